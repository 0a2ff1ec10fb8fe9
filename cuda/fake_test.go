//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"os"
	"testing"
	"time"

	"refrain/cuda/cudatest"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

// fake is a driver without a device.
type fake struct{ *cudatest.Driver }

func newFake(tb testing.TB) fake {
	tb.Helper()
	return fake{cudatest.New(tb)}
}

// open opens the device of a fake driver, with buffers so small that tests fill them, and without the test of its kernels.
func (f fake) open(tb testing.TB, changes ...func(*Config)) *Device {
	tb.Helper()
	config := Default()
	config.Library, config.untested = f.Library, true
	config.Timeout = time.Hour // a simulated device may take what it takes
	s := &config.sizes
	s.staging, s.hits, s.chunk = 3000, 1<<12, 4*chunkUnit
	config.trial = trial{rows: 64, queries: 64, warmUp: time.Microsecond, rounds: 3, limit: time.Second}
	for _, change := range changes {
		change(&config)
	}
	d, err := Open(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// tested has the kernels tested as they are everywhere else.
func tested(c *Config) { c.untested = false }

// openAll opens the device and wants all kernels offered, for a test that tries them.
func (f fake) openAll(tb testing.TB) *Device {
	tb.Helper()
	d := f.open(tb)
	if len(d.kernels) != len(kernels()) {
		tb.Fatalf("kernels %q of %d", d.Kernels(), len(kernels()))
	}
	return d
}
