package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustPut(t *testing.T, dir, format string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, formatName), []byte(format), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestClaim: new directories and those of before the file get the number; what is not known is refused and left.
func TestClaim(t *testing.T) {
	made, old := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(old, "dead-letters.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, dir := range []string{made, old} {
			if err := Claim(dir); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, formatName)); string(got) != "1\n" || err != nil {
				t.Errorf("FORMAT %q, %v", got, err)
			}
		}
	}
	for format, want := range map[string]string{"2\n": "newer program", "999": "newer program", "": "no number",
		"\x00\x00": "no number", "0": "no number",
		"-1": "no number", "1.5": "no number", strings.Repeat("9", 1000): "no number"} {
		dir := t.TempDir()
		mustPut(t, dir, format)
		err := Claim(dir)
		var unknown *FormatError
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, &unknown) != (want == "newer program") ||
			len(err.Error()) > 500 {
			t.Errorf("%.20q: %v, want %s", format, err, want)
		}
		if got, err := os.ReadFile(filepath.Join(dir, formatName)); string(got) != format || err != nil {
			t.Errorf("%.20q has become %q, %v", format, got, err)
		}
	}
}
