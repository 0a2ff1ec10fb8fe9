package cuda

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The .ptx files are what the .cu files give.
func TestFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a compiler, and no goroutines")
	}
	if output, err := exec.Command("./nvcc", "-have").CombinedOutput(); err != nil {
		t.Skipf("%s", bytes.TrimSpace(output))
	}
	dir := t.TempDir()
	if output, err := exec.Command("./generate", dir).CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, output)
	}
	files, err := filepath.Glob("*.cu")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d .cu files: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".cu") + ".ptx"
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if want, err := ptx.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what %s gives: run go generate ./cuda (%v)", name, file, err)
		}
	}
}
