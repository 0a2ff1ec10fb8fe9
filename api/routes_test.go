package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestRoutesEqualOpenAPI compares the two lists: methods, paths and query parameters.
func TestRoutesEqualOpenAPI(t *testing.T) {
	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Ref      string `yaml:"$ref"`
			}
		}
		Components struct {
			Parameters map[string]struct{ Name, In string }
		}
	}
	if err := yaml.Unmarshal(description, &d); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			query := []string{}
			for _, p := range op.Parameters {
				if shared, ok := d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]; ok {
					p.Name, p.In = shared.Name, shared.In
				}
				if p.In == "query" {
					query = append(query, p.Name)
				}
			}
			want[strings.ToUpper(method)+" "+path] = query
		}
	}
	got := map[string][]string{}
	for _, r := range (&handlers{}).routes() {
		got[r.method+" "+r.path] = append([]string{}, r.query...)
	}
	for _, query := range []map[string][]string{got, want} {
		for name := range query {
			slices.Sort(query[name])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-described +served):\n%s", diff)
	}
}
