package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"refrain/server"
)

const sample = "../../deploy/refrain.yaml"

// TestSampleIsTheDefault: who copies the sample changes nothing.
func TestSampleIsTheDefault(t *testing.T) {
	got, err := Load(sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := server.Default()
	want.Workers = 2 // the default depends on the machine
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
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
	for _, key := range keysOfType("", reflect.TypeFor[server.Config]()) {
		if !got[key] {
			t.Errorf("%s is not in the sample", key)
		}
	}
}

// TestSampleShowsEntries: lists are empty in the sample. What an entry may hold stands there as a comment, which is
// taken out of it here, read and checked.
func TestSampleShowsEntries(t *testing.T) {
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"NEWSROOM", "KAFKA_PASSWORD", "NATS_PASSWORD", "NATS_TOKEN", "DESK_SECRET"} {
		t.Setenv(name, "secret")
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		indent, comment, found := strings.Cut(line, "# ")
		if found && len(indent) == 2 && strings.TrimSpace(indent) == "" {
			line = indent + comment
		}
		if strings.Contains(line, ": []") && strings.Contains(line, ":\n") {
			line = strings.Replace(line, " []", "", 1)
		}
		lines = append(lines, line)
	}
	c, err := Load(mustWrite(t, strings.Join(lines, "")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil && !strings.Contains(err.Error(), "is false: the other settings of TLS") || err == nil {
		t.Errorf("got %v, want the one complaint about settings of a TLS that is not enabled", err)
	}
	for _, section := range []any{c.Auth, c.Ingest, c.Publish, c.Quotas} {
		for i, v := 0, reflect.ValueOf(section); i < v.NumField(); i++ {
			if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() != 1 {
				t.Errorf("%s: %d entries in the sample's comments, want 1", v.Type().Field(i).Name, f.Len())
			}
		}
	}
	for _, entry := range []any{c.Auth.Tokens[0], c.Quotas.Sources[0], c.Ingest.Kafka[0], c.Ingest.NATS[0], c.Ingest.Files[0],
		c.Publish.Kafka[0], c.Publish.NATS[0], c.Publish.Webhooks[0]} {
		for _, key := range keysOfType("", reflect.TypeOf(entry)) {
			key = key[strings.LastIndex(key, ".")+1:]
			if !strings.Contains(string(data), " "+key+": ") && !strings.Contains(string(data), " "+key+":\n") &&
				!strings.Contains(string(data), "{"+key+": ") {
				t.Errorf("the sample does not show %s of %T", key, entry)
			}
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
		if f.Tag.Get("yaml") == ",inline" {
			keys = append(keys, keysOfType(prefix, f.Type)...)
			continue
		}
		if f.Tag.Get("yaml") == "-" {
			continue
		}
		key := prefix + f.Tag.Get("yaml")
		keys = append(keys, key)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOfType(key+".", f.Type)...)
		}
	}
	return keys
}
