package mapping_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/ingest/file"
	"refrain/ingest/mapping"
)

var update = flag.Bool("update", false, "rewrite testdata/*.want")

// TestPresets reads an export of each platform: records of ours after its published format, with its oddities. What becomes
// of them stands beside it, in NAME.want.
func TestPresets(t *testing.T) {
	for _, preset := range mapping.Presets {
		paths, err := filepath.Glob("testdata/" + preset.Name + ".[jx]*")
		more, errMore := filepath.Glob("testdata/" + preset.Name + "-atom*.xml")
		if err != nil || errMore != nil || len(paths) == 0 {
			t.Fatalf("%s: no file, %v", preset.Name, err)
		}
		for _, path := range append(paths, more...) {
			got := readPreset(t, preset.Name, path)
			want := strings.TrimSuffix(path, filepath.Ext(path)) + ".want"
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if expected, err := os.ReadFile(want); err != nil || got != string(expected) {
				t.Errorf("%s: %v, got\n%s\nwant\n%s", path, err, got, expected)
			}
		}
	}
}

// readPreset shows what is read of a file, a post or a rejection a line.
func readPreset(t *testing.T, preset, path string) string {
	t.Helper()
	cfg := file.Default(path)
	how := mapping.Config{Preset: preset}
	if err := how.File(&cfg); err != nil {
		t.Fatal(err)
	}
	src, err := file.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out strings.Builder
	var last []string
	skipped := 0
	for {
		b, err := src.Next(t.Context())
		for _, p := range b.Posts {
			converted := ""
			if p.Converted {
				converted = " converted"
			}
			of := ""
			if p.Source != "" {
				of = fmt.Sprintf(" of %q", p.Source) // which no platform's source is
			}
			fmt.Fprintf(&out, "%s%s by %q at %v in %q%s: %q\n", p.ID, of, p.Author, p.Time, p.Lang, converted, p.Text)
		}
		for _, r := range b.Rejected {
			last = append(last, fmt.Sprintf("%s: %s\n", r.Location, r.Reason))
		}
		skipped += b.Skipped
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintf(&out, "%sskipped: %d\n", strings.Join(last, ""), skipped)
	return out.String()
}

// TestSettings: what is wrong is told by its name, a request overrules, and a map goes over that of a preset.
func TestSettings(t *testing.T) {
	for want, c := range map[string]mapping.Config{
		`preset: "myspace": want twitter-v1,`: {Preset: "myspace"},
		"map: field map":                      {Map: "a"},
		"timezone: ":                          {Timezone: "Mars"},
		"timezone: \"Local\"":                 {Timezone: "Local"},
		"time_format: ":                       {TimeFormat: "%d"},
		"keep: ":                              {Keep: []string{"text"}},
		"link: ":                              {Link: "ftp://{id}"},
	} {
		if _, err := c.Fields(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	for query, want := range map[string]string{
		"map=text=a|b&preset=reddit": "id=name|id", "preset=rss": "id=guid|id|link|link.href|rdf:about", "": "id=id",
		"html=perhaps": "html: ",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := (&mapping.Config{}).With(values)
		if err != nil && !strings.HasPrefix(err.Error(), want) || err == nil && "id="+fields.Path(0) != want {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}
