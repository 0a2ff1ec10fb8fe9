package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// The structs of launch.go are as large as the arguments of the kernels, which the driver copies without asking.
func TestArguments(t *testing.T) {
	for _, k := range kernels() {
		size := unsafe.Sizeof(launch{})
		if k.name == paper {
			size = unsafe.Sizeof(paperLaunch{})
		}
		text, err := ptx.ReadFile(k.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range k.functions {
			if want := fmt.Sprintf("%s_param_0[%d]\n", f.name, size); !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s has no %s", k.file, want)
			}
		}
	}
}

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
	rates, wrong := filepath.Glob("rates/*.cu")
	if err = errors.Join(err, wrong); err != nil || len(files) == 0 || len(rates) == 0 {
		t.Fatalf("%d and %d .cu files: %v", len(files), len(rates), err)
	}
	for _, file := range append(files, rates...) {
		name := strings.TrimSuffix(file, ".cu") + ".ptx"
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if want, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what %s gives: run go generate ./cuda (%v)", name, file, err)
		}
	}
}
