package natsconn

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

func TestIsSupported(t *testing.T) {
	for version, want := range map[string]bool{
		"2.10.0": true, "2.10.29": true, "2.15.2": true, "3.0.0": true, "2.9.25": false, "1.11.0": false, "": false, "dev": false,
	} {
		if got := isSupported(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}

var documentedVersion = regexp.MustCompile(`NATS\W+(\d+\.\d+) or (?:later|newer)`)

// TestDocumentedVersion: the docs name the oldest version that is let in.
func TestDocumentedVersion(t *testing.T) {
	want := fmt.Sprintf("%d.%d", minVersion[0], minVersion[1])
	for _, path := range []string{"../../docs/cluster.md", "../../docs/nats.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := documentedVersion.FindAllSubmatch(text, -1)
		if len(all) == 0 {
			t.Errorf("%s names no version", path)
		}
		for _, m := range all {
			if string(m[1]) != want {
				t.Errorf("%s: %s, want %s", path, m[0], want)
			}
		}
	}
}
