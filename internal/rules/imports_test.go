package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "refrain/"

// pkg is what "go list -json" says of a package, as far as it matters here. Imports of tests are not among them:
// a test may import what it needs.
type pkg struct {
	ImportPath string
	Imports    []string
}

func (p pkg) folder() string { return strings.TrimPrefix(p.ImportPath, module) }

func TestImports(t *testing.T) {
	packages := mustList(t)
	for _, complaint := range check(packages) {
		t.Error(complaint)
	}
	if len(packages) < 10 {
		t.Errorf("go list names %d packages: the rules were hardly tried", len(packages))
	}
}

func mustList(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var packages []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// check returns a sentence for every import that the table does not allow.
func check(packages []pkg) (complaints []string) {
	byFolder := map[string]pkg{}
	for _, p := range packages {
		byFolder[p.folder()] = p
	}
	for _, p := range packages {
		r, ok := rowOf(p.folder())
		if !ok {
			complaints = append(complaints, fmt.Sprintf(
				"%s is in no row of the table: add its folder to internal/rules/table.go and to the table of packages in "+
					"docs, with what it may import", p.folder()))
			continue
		}
		complaints = append(complaints, checkArrows(p, r, byFolder)...)
		complaints = append(complaints, checkClients(p, r)...)
	}
	return complaints
}

// rowOf finds the row with the longest folder that holds the package.
func rowOf(folder string) (best row, found bool) {
	for _, r := range table {
		if inside(folder, r.folder) && len(r.folder) >= len(best.folder) {
			best, found = r, true
		}
	}
	return best, found
}

func inside(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func checkArrows(p pkg, r row, byFolder map[string]pkg) (complaints []string) {
	for _, through := range reach(p, byFolder) {
		to, ok := rowOf(through.folder)
		if !ok || to.folder == r.folder || to.folder == "internal" || allows(r, to.folder) {
			continue
		}
		complaints = append(complaints, fmt.Sprintf("%s imports %s%s: row %q of internal/rules/table.go allows %q",
			p.folder(), through.folder, through.by, r.folder, r.imports))
	}
	return complaints
}

func allows(r row, folder string) bool {
	if slices.Contains(r.imports, everything) && !slices.Contains(apart, folder) {
		return true
	}
	return slices.Contains(r.imports, folder)
}

// arrow is an import of ours, and through which internal packages it came.
type arrow struct{ folder, by string }

// reach lists what a package imports of ours. An internal package is looked through, so that no one gets around
// the table by way of it.
func reach(p pkg, byFolder map[string]pkg) (arrows []arrow) {
	seen := map[string]bool{}
	var walk func(p pkg, by string)
	walk = func(p pkg, by string) {
		for _, path := range p.Imports {
			folder, ours := strings.CutPrefix(path, module)
			if !ours || seen[folder] {
				continue
			}
			seen[folder] = true
			arrows = append(arrows, arrow{folder, by})
			if inside(folder, "internal") {
				walk(byFolder[folder], by+" through "+folder)
			}
		}
	}
	walk(p, "")
	return arrows
}

func checkClients(p pkg, r row) (complaints []string) {
	for _, path := range p.Imports {
		client := slices.ContainsFunc(clients, func(c string) bool { return inside(path, c) })
		if client && !r.clients {
			complaints = append(complaints, fmt.Sprintf(
				"%s imports the network client %s: only rows with clients in internal/rules/table.go may", p.folder(), path))
		}
	}
	return complaints
}

// TestTablePointsUp wants every row to import rows above it only: then there is one direction of arrows, whatever
// packages come.
func TestTablePointsUp(t *testing.T) {
	seen := []string{everything}
	for _, r := range table {
		for _, folder := range r.imports {
			if !slices.Contains(seen, folder) {
				t.Errorf("row %q imports %q, which is not above it", r.folder, folder)
			}
		}
		if slices.Contains(seen, r.folder) {
			t.Errorf("row %q appears twice", r.folder)
		}
		seen = append(seen, r.folder)
	}
}

func TestCheckComplains(t *testing.T) {
	for _, c := range []struct {
		name     string
		packages []pkg
		want     string
	}{
		{"arrow the wrong way", []pkg{{"refrain/text", []string{"refrain/hashcodes"}}}, "text imports hashcodes: row \"text\""},
		{"unknown package", []pkg{{"refrain/util", nil}},
			"util is in no row of the table: add its folder to internal/rules/table.go"},
		{"not below a row", []pkg{{"refrain/textual", nil}}, "textual is in no row"},
		{"row of a subfolder", []pkg{{"refrain/shard", []string{"refrain/topic/jetstream"}}}, "shard imports topic/jetstream"},
		{"row of a parent", []pkg{{"refrain/lookup/redis", []string{"refrain/shard"}}}, "lookup/redis imports shard"},
		{"around by internal", []pkg{
			{"refrain/lookup", []string{"refrain/internal/x"}},
			{"refrain/internal/x", []string{"refrain/internal/y"}},
			{"refrain/internal/y", []string{"refrain/detector"}},
		}, "lookup imports detector through internal/x through internal/y"},
		{"client", []pkg{{"refrain/shard", []string{"github.com/nats-io/nats.go/jetstream"}}},
			"shard imports the network client github.com/nats-io/nats.go/jetstream"},
		{"a source and another", []pkg{{"refrain/ingest/http", []string{"refrain/ingest/file"}}},
			"ingest/http imports ingest/file: row \"ingest/http\""},
		{"the contract and a source", []pkg{{"refrain/ingest", []string{"refrain/ingest/kafka"}}},
			"ingest imports ingest/kafka: row \"ingest\""},
		{"client in a source of files", []pkg{{"refrain/ingest/file", []string{"github.com/coder/websocket"}}},
			"ingest/file imports the network client"},
		{"client in topic itself", []pkg{{"refrain/topic", []string{"github.com/segmentio/kafka-go"}}},
			"topic imports the network client"},
		{"the commands", []pkg{{"refrain/lab/eval", []string{"refrain/cmd/refrain"}}}, "lab/eval imports cmd/refrain"},
		{"measuring in the product", []pkg{{"refrain/cmd/refrain", []string{"refrain/lab/report"}}},
			"cmd/refrain imports lab/report"},
		{"measuring in a deployment", []pkg{{"refrain/deploy/compose/feeder", []string{"refrain/lab/cpu"}}},
			"deploy/compose/feeder imports lab/cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := check(c.packages)
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("got %q, want one complaint that begins with %q", got, c.want)
			}
		})
	}
}

func TestCheckAllows(t *testing.T) {
	packages := []pkg{
		{"refrain/publish", []string{"refrain/internal/terminal", "refrain/topic", "net/http"}},
		{"refrain/internal/terminal", []string{"refrain/feed", "refrain/text"}},
		{"refrain/lookup", []string{"refrain/internal/problem"}},
		{"refrain/topic/jetstream", []string{"refrain/topic", "github.com/nats-io/nats.go"}},
		{"refrain/topic/conformance", []string{"refrain/topic"}},
		{"refrain/cmd/refrain", []string{"refrain/cuda", "refrain/join", "github.com/redis/go-redis/v9"}},
		{"refrain/cmd/refrain-lab", []string{"refrain/cuda", "refrain/lab/report", "refrain/internal/terminal"}},
		{"refrain/lab/eval", []string{"refrain/lab/report", "refrain/hashcodes/train"}},
	}
	if got := check(packages); got != nil {
		t.Errorf("got complaints %q, want none", got)
	}
}
