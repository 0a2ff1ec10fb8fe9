//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"refrain/cuda/cudatest"
)

// Mistakes in the PTX that only more than one segment, stage or unit brings to light, and that a test of few rows and queries
// passes.
var selfTestMutants = []mutant{
	{name: "stages: only the first", file: "popcount.ptx", mark: "entry popcount1(", find: stageLoop, replace: "setp.eq.s32$1"},
	{name: "stages: only the first", file: "popcount.ptx", mark: "entry popcountn(", find: stageLoop, replace: "setp.eq.s32$1"},
	{name: "stages: only the first", file: "imma.ptx", mark: "entry imma2(", find: stageLoop, replace: "setp.eq.s32$1"},
	{name: "stages: only the first", file: "imma.ptx", mark: "entry imma32(", find: stageLoop, replace: "setp.eq.s32$1"},
	{name: "stages: only the first", file: "bmma.ptx", mark: "entry bmma8(", find: stageLoop, replace: "setp.eq.s32$1"},
	{name: "units: the first piece again", file: "popcount.ptx", mark: "entry popcount2(", find: ownPiece, replace: "mov.u32 $1, $2;"},
	{name: "units: the first piece again", file: "bmma.ptx", mark: "entry bmma4(", find: ownPiece, replace: "mov.u32 $1, $2;"},
	{name: "segments: all units are of the first", file: "popcount.ptx", mark: "entry popcount4(", find: ownSegment, replace: "$1, 4096;"},
	{name: "segments: all units are of the first", file: "imma.ptx", mark: "entry imma16(", find: ownSegment, replace: "$1, 4096;"},
	{name: "stage: longer than its room", file: "imma.ptx", mark: "entry imma4(", find: `min\.u32 (\t%r\d+, %r\d+), 128;`,
		replace: "min.u32 $1, 2048;"},
	{name: "overflow: room for 4,000 hits, however much there is", file: "popcount.ptx", find: `(setp\.ge\.u64 \t%p\d+, %rd\d+), %rd\d+;`,
		replace: "$1, 4000;", every: true},
	{name: "overflow: a count that cannot be", file: "popcount.ptx", find: `(atom\.global\.add\.u64 \t%rd\d+, \[%rd\d+\]), %rd\d+;`,
		replace: "$1, 1099511627776;", every: true},
}

const (
	stageLoop  = `setp\.gt\.u32( \t%p\d+, %r\d+, %r\d+;(?:\s+add[^;]*;)?\s+@%p\d+ bra)`
	ownPiece   = `mad\.lo\.s32 \t(%r\d+), %r\d+, %r\d+, (%r\d+);`
	ownSegment = `(setp\.gt\.u32 \t%p\d+, %r\d+), 1;`
)

// mutated is the kernels with a mistake.
type mutated struct {
	embed.FS
	file string
	text []byte
}

func (m mutated) ReadFile(name string) ([]byte, error) {
	if name == m.file {
		return slices.Clone(m.text), nil
	}
	return m.FS.ReadFile(name)
}

// A kernel that is wrong, in whatever way, is not offered; all others are.
func TestSelfTestRefuses(t *testing.T) {
	for i := 0; i < len(selfTestMutants); i += stride() {
		m := selfTestMutants[i]
		t.Run(m.mark+" "+m.name, func(t *testing.T) {
			f := newFake(t)
			f.Complains = true // of a stage that is too long
			d := f.open(t, tested, func(c *Config) { c.ptx = mutated{ptx, m.file, []byte(m.mutate(t))} })
			var want []string
			for _, k := range kernels() {
				if k.file != m.file {
					want = append(want, k.name)
				}
			}
			if got := d.Kernels(); !slices.Equal(got, want) {
				t.Errorf("kernels %q, want %q", got, want)
			}
		})
	}
}

// The test at opening goes through what it is there for.
func TestSelfTestReaches(t *testing.T) {
	for _, k := range kernels() {
		for _, words := range testedWidths {
			f := k.function(words)
			s := newSelfTest(f, words)
			hits := 0
			for q := range s.queries {
				own := s.want(uint32(q))
				if len(own) == 0 && !hasHolders(q, words) {
					t.Errorf("%s, %d words: query %d has no hit", f.name, words, q)
				}
				hits += len(own)
			}
			if hits <= testRoom || s.piece <= f.maxStage(words) || len(s.queries) <= s.piece {
				t.Errorf("%s, %d words: %d hits, %d queries in pieces of %d", f.name, words, hits, len(s.queries), s.piece)
			}
		}
	}
}

// A kernel that takes the context with it is left out, the device is not: all is made anew, and all others scan.
func TestFaultyKernel(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		kernels []string
		code    int32
		want    []string
	}{
		"illegal address":  {[]string{"imma4"}, cudatest.IllegalAddress, []string{"popcount", "bmma", "paper"}},
		"misaligned":       {[]string{"popcountn"}, cudatest.Misaligned, []string{"imma", "bmma", "paper"}},
		"two":              {[]string{"imma", "bmma32"}, cudatest.LaunchFailed, []string{"popcount", "paper"}},
		"all but the last": {[]string{"popcount", "imma", "bmma"}, cudatest.LaunchFailed, []string{"paper"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Reset(1<<30, 1, 90, 2)
			for _, k := range c.kernels {
				f.Fault(k, c.code)
			}
			var log bytes.Buffer
			d := f.open(t, tested, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			if got := d.Kernels(); !slices.Equal(got, c.want) {
				t.Fatalf("kernels %q, want %q", got, c.want)
			}
			if got := strings.Count(log.String(), "it faults; the context is reset"); got != len(c.kernels) {
				t.Errorf("%d faults in the log, want %d:\n%s", got, len(c.kernels), &log)
			}
			if strings.Contains(log.String(), `msg="cuda device lost"`) || !strings.Contains(log.String(), fmt.Sprintf("(error %d)", c.code)) {
				t.Errorf("log:\n%s", &log)
			}
			random := rand.New(rand.NewPCG(15, 15))
			table := MustTable(t, d, random, 3, 3000)
			for _, k := range d.kernels {
				newWholeQuestion(random, 5, table).ask(t, d, k)
			}
		})
	}
}

// Where nothing is left, or the context cannot be reset, the device is not available, and the error says why.
func TestFaultyDevice(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		prepare func()
		want    []string
	}{
		"all kernels": {func() { f.Reset(1<<30, 1, 75, 2); f.Fault("popcount", 719); f.Fault("paper", 700) },
			[]string{"test kernel popcount", "error 719", "test kernel paper", "error 700"}},
		"no reset": {func() { f.Fault("imma", 700); f.Fail("cuDevicePrimaryCtxReset", 1, 999) },
			[]string{"kernel imma: cuDevicePrimaryCtxReset: ", "error 999", "error 700"}},
		"no context": {func() { f.Fault("imma", 700); f.Fail("cuDevicePrimaryCtxRetain", 2, 999) },
			[]string{"kernel imma: cuDevicePrimaryCtxRetain: ", "error 999", "error 700"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Reset(1<<30, 1, 90, 2)
			c.prepare()
			config := Default()
			config.Library = f.Library
			_, err := Open(config)
			if !errors.Is(err, ErrUnavailable) {
				t.Fatalf("got %v, want ErrUnavailable", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
}

// A kernel that faults later takes the rows with it, so the device is lost; the error says which was launched last.
func TestFaultLater(t *testing.T) {
	f := newFake(t)
	d := f.open(t, tested, func(c *Config) { c.Kernel = "imma" })
	table := MustTable(t, d, rand.New(rand.NewPCG(16, 16)), 2, 3000)
	f.Fault("imma2", cudatest.IllegalAddress)
	for _, err := range []error{d.Scan(newFlood(1, table, 0, 3000).batch(), func(Hit) {}), table.rows.Append([][]uint32{{1}, {1}})} {
		if !errors.Is(err, ErrDeviceLost) || !strings.Contains(err.Error(), "(error 700) (launched last: kernel imma)") {
			t.Errorf("got %v", err)
		}
	}
	f.Forget = true
}
