package hashcodes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/text"
)

// TestOpenRefusesOtherTextVersions: such a model loses nothing, but it is worth nothing either.
func TestOpenRefusesOtherTextVersions(t *testing.T) {
	for _, version := range []int{text.Version - 1, text.Version} {
		m, err := New(Description{Bits: 32, Ones: 1, Learner: "hand", TextVersion: version},
			[]Entry{{Token: 7, Positions: []uint8{1}}})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.model")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Write(file); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		switch _, err := Open(path, 0, 0); {
		case version == text.Version && err != nil:
			t.Error(err)
		case version != text.Version && (err == nil || !strings.Contains(err.Error(), "refrain train")):
			t.Errorf("text version %d: error %v, want what to do", version, err)
		}
	}
}
