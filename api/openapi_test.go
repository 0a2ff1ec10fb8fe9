package api_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type description struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string `yaml:"operationId"`
		Parameters  []struct {
			Name, In string
			Schema   map[string]any
		}
		Responses map[string]any
	}
	Components map[string]map[string]any
}

func served(t *testing.T) (d description, raw string) {
	t.Helper()
	w := serve(mustNew(t, config()), "GET", "/openapi.yaml", "")
	if err := yaml.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d, w.Body.String()
}

// TestOpenAPIDescribesWhatIsServed goes both ways: whatever is described is served, with those methods and
// query parameters, and 405 answers allow nothing else; every route has one.
func TestOpenAPIDescribesWhatIsServed(t *testing.T) {
	d, _ := served(t)
	h := mustNew(t, config())
	if len(d.Paths) == 0 || !strings.HasPrefix(d.OpenAPI, "3.1") {
		t.Fatalf("openapi %q with %d paths", d.OpenAPI, len(d.Paths))
	}
	for path, methods := range d.Paths {
		target := strings.NewReplacer("{id}", "7", "{file}", "dev.refrain.reuse.v1.json").Replace(path)
		for method, op := range methods {
			w := serve(h, strings.ToUpper(method), target, `{"text":""}`)
			if w.Code == 404 || w.Code == 405 {
				t.Errorf("%s %s is described and not served: %d", method, path, w.Code)
			}
			for _, p := range op.Parameters {
				if p.In != "query" {
					continue
				}
				w := serve(h, strings.ToUpper(method), target+"?"+p.Name+"=x", `{"text":""}`)
				if strings.Contains(w.Body.String(), "Unknown query") {
					t.Errorf("%s %s: parameter %s is described and unknown", method, path, p.Name)
				}
			}
		}
		w := serve(h, "PATCH", target, "")
		detail(t, w, 405)
		for _, m := range strings.Split(w.Header().Get("Allow"), ", ") {
			if _, ok := methods[strings.ToLower(m)]; !ok && m != "HEAD" {
				t.Errorf("%s %s is served and not described", m, path)
			}
		}
	}
}

func TestOpenAPIReferencesResolve(t *testing.T) {
	d, raw := served(t)
	for _, rest := range strings.Split(raw, `$ref: "#/components/`)[1:] {
		ref, _, _ := strings.Cut(rest, `"`)
		kind, name, _ := strings.Cut(ref, "/")
		if d.Components[kind][name] == nil {
			t.Errorf("reference to %s, which is not there", ref)
		}
	}
	seen := map[string]bool{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if op.OperationID == "" || seen[op.OperationID] || len(op.Responses) == 0 {
				t.Errorf("%s %s: operationId %q is empty or used twice, or there are no responses", method, path, op.OperationID)
			}
			seen[op.OperationID] = true
		}
	}
}
