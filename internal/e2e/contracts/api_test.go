package contracts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// driven is what a client saw of a server that it drove.
type driven struct {
	Accepted, Deleted int
	Event, Problem    string
}

// TestGeneratedClients: clients that generators make of openapi.yaml post lines of NDJSON, follow the events and stop, look a
// text up, ask what a post repeats, delete it, and are told by a typed problem that it is gone.
func TestGeneratedClients(t *testing.T) {
	const id, text = "line\nfeed \u0085 \u001b", "The quick brown fox jumps over the lazy dog beside the river bank."
	for language, generate := range map[string]func(t *testing.T) *clients{
		"Go":         func(t *testing.T) *clients { return goClients(t) },
		"TypeScript": typeScriptClient,
		"Python":     pythonClient,
	} {
		t.Run(language, func(t *testing.T) {
			c, p := generate(t), started(t, "")
			out := c.give(t, []byte(strings.Join(posts, "\n")), "api", p.URL(""), id, text)
			var got driven
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, stream := p.Get("/v1/events?from=start&until=now&format=ndjson")
			first, _, _ := strings.Cut(stream, "\n")
			want := driven{len(posts), 204, fmt.Sprint(decoded(t, first)["id"]), "urn:refrain:problem:deleted"}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// typeScriptClient makes types of openapi.yaml, and checks a client by them. Modules are found beside the program only.
func typeScriptClient(t *testing.T) *clients {
	c := javaScript(t, "openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@20")
	if err := os.CopyFS(c.dir, os.DirFS("clients/javascript")); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(c.dir, "node_modules", ".bin")
	succeed(t, exec.Command(filepath.Join(bin, "openapi-typescript"), documents+"openapi.yaml", "-o", filepath.Join(c.dir, "refrain.d.ts")))
	succeed(t, exec.Command(filepath.Join(bin, "tsc"), "-p", c.dir))
	c.run = func(program string) []string { return []string{"node", filepath.Join(c.dir, program+".mjs")} }
	return c
}

func pythonClient(t *testing.T) *clients {
	c := python(t, "openapi-python-client==0.29.1")
	generate := exec.Command("python3", "-m", "openapi_python_client", "generate", "--path", documents+"openapi.yaml",
		"--config", "clients/python/openapi-python-client.yaml", "--meta", "none", "--output-path", filepath.Join(c.dir, "refrain_client"))
	generate.Env = append(os.Environ(), c.env...)
	succeed(t, generate)
	return c
}
