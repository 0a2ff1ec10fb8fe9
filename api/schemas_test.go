package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"refrain/feed"
	"refrain/publish/webhook"
)

var write = flag.Bool("write", false, "write the files of schemas")

// schemaOf is which component of openapi.yaml describes the data of a type of events.
var schemaOf = map[string]string{feed.ReuseType: "Match", feed.RetractedType: "Retraction", webhook.BatchType: "Batch",
	webhook.TestType: "Test"}

// TestSchemasAreThoseOfOpenAPI: each file has its component of openapi.yaml, with all that it refers to. With -write it
// is written.
func TestSchemasAreThoseOfOpenAPI(t *testing.T) {
	var d struct {
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal(description, &d); err != nil {
		t.Fatal(err)
	}
	for kind, component := range schemaOf {
		want := standalone(t, d.Components.Schemas, component, kind)
		name := "schemas/" + feed.SchemaFile(kind)
		if *write {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := schemas.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what openapi.yaml says (%v): go test ./api -run Schemas -write", name, err)
		}
	}
	if files, err := schemas.ReadDir("schemas"); err != nil || len(files) != len(schemaOf) {
		t.Errorf("%d files for %d types: %v", len(files), len(schemaOf), err)
	}
}

// standalone is a component as a document of its own.
func standalone(t *testing.T, all map[string]any, name, title string) []byte {
	t.Helper()
	defs := map[string]any{}
	root, _ := rewrite(all[name], all, defs).(map[string]any)
	root = maps.Clone(root)
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", title
	if len(defs) > 0 {
		root["$defs"] = defs
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rewrite has references lead to defs, and puts there what they lead to.
func rewrite(v any, all, defs map[string]any) any {
	switch v := v.(type) {
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = rewrite(out[i], all, defs)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = rewrite(member, all, defs)
		}
		ref, _ := v["$ref"].(string)
		if name, ok := strings.CutPrefix(ref, "#/components/schemas/"); ok {
			out["$ref"] = "#/$defs/" + name
			if _, there := defs[name]; !there {
				defs[name] = nil // it may refer to itself
				defs[name] = rewrite(all[name], all, defs)
			}
		}
		return out
	}
	return v
}
