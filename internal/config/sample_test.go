package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const sample = "../../deploy/refrain.yaml"

// TestSampleIsTheDefault: who copies the sample changes nothing.
func TestSampleIsTheDefault(t *testing.T) {
	got, err := Load(sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Workers = 2             // the default depends on the machine
	want.Ingest.Files = []File{} // an empty list in the file, none in the defaults
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sample differs from the defaults (-default +sample):\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Errorf("the sample is not valid: %v", err)
	}
}

// TestSampleIsComplete compares keys both ways: what the file has too much, Load refuses; what it lacks is found here.
func TestSampleIsComplete(t *testing.T) {
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	var file yaml.Node
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	keysOf(got, "", file.Content[0])
	for _, key := range keysOfType("", reflect.TypeFor[Config]()) {
		if !got[key] {
			t.Errorf("%s is not in the sample", key)
		}
	}
}

// TestSampleShowsFiles: lists are empty in the sample, so what an entry may hold stands there as a comment.
func TestSampleShowsFiles(t *testing.T) {
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(data), "files: []")
	if !found {
		t.Fatal("the sample has no empty list of files")
	}
	for _, key := range keysOfType("", reflect.TypeFor[File]()) {
		if !strings.Contains(after, " "+key+": ") {
			t.Errorf("the sample does not show %s of a file", key)
		}
	}
}

// TestSampleSaysWhatEachKeyIs: a comment beside or above every key that holds a value.
func TestSampleSaysWhatEachKeyIs(t *testing.T) {
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	var above string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		isKey := line != "" && !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, ":")
		if isKey && !strings.Contains(line, "#") && !strings.HasPrefix(above, "#") {
			t.Errorf("%q has no comment", line)
		}
		above = line
	}
}

func keysOf(to map[string]bool, prefix string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := prefix + n.Content[i].Value
		to[key] = true
		if value := n.Content[i+1]; value.Kind == yaml.MappingNode {
			keysOf(to, key+".", value)
		}
	}
}

func keysOfType(prefix string, t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("yaml")
		keys = append(keys, key)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOfType(key+".", f.Type)...)
		}
	}
	return keys
}
