package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestService has systemd read the unit: it passes over settings that it does not know, with a line that fails here, and
// its own sum of what the process could do elsewhere stays low.
func TestService(t *testing.T) {
	checkUnit(t, mustUnit(t))
}

// TestServiceWithCUDA: the same with what a GPU needs; its devices and what the driver maps are what more there is.
func TestServiceWithCUDA(t *testing.T) {
	unit := mustUnit(t)
	dropIn := unit + ".d"
	if err := os.Mkdir(dropIn, 0o700); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dropIn, "cuda.conf"), string(mustRead(t, "refrain-cuda.conf")))
	// What a service of systemd may write is its state, so compiled kernels have to be there.
	state := regexp.MustCompile(`REFRAIN_DATA_DIR=(\S+)`).FindSubmatch(mustRead(t, "refrain.service"))
	cache := regexp.MustCompile(`CUDA_CACHE_PATH=(\S+)`).FindSubmatch(mustRead(t, "refrain-cuda.conf"))
	if state == nil || cache == nil || filepath.Dir(string(cache[1])) != string(state[1]) {
		t.Errorf("compiled kernels go to %s, and the process may write in %s", cache, state)
	}
	checkUnit(t, unit)
}

// checkUnit has systemd read a unit, with the drop-ins beside it, and sum up its exposure.
func checkUnit(t *testing.T, unit string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze (Debian: systemd): ", err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	const maxExposure = "15" // tenths: 1.5, of 10
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+maxExposure,
		unit).CombinedOutput()
	if strings.Contains(string(out), "unrecognized option") {
		t.Skip("systemd-analyze security reads no files here: it needs systemd 250")
	}
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// mustUnit is the unit with a program that is there.
func mustUnit(t *testing.T) string {
	t.Helper()
	data := mustRead(t, "refrain.service")
	const program = "ExecStart=/usr/local/bin/refrain "
	if !bytes.Contains(data, []byte(program)) {
		t.Fatalf("no %q in the unit", program)
	}
	data = bytes.Replace(data, []byte(program), []byte("ExecStart="+mustExecutable(t)+" "), 1)
	unit := filepath.Join(t.TempDir(), "refrain.service")
	if err := os.WriteFile(unit, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return unit
}

func mustExecutable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
