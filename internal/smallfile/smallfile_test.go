package smallfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(path, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path, 8); err != nil || string(got) != "12345678" {
		t.Errorf("a file as large as may be: %q, %v", got, err)
	}
	if _, err := Read(path, 7); err == nil || !strings.Contains(err.Error(), path+": more than ") {
		t.Errorf("a file too large: error %v", err)
	}
	if _, err := Read(path+"-none", 8); err == nil {
		t.Error("a file that is not there: no error")
	}
}

// A device without an end is an error, and does not take all memory.
func TestReadDevice(t *testing.T) {
	if _, err := Read("/dev/zero", 1<<10); err == nil || !strings.Contains(err.Error(), "/dev/zero: more than 1") {
		t.Errorf("error %v", err)
	}
}
