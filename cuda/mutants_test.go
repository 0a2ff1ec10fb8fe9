//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"refrain/cuda/cudatest"
)

// mutant is a mistake in a file: what is found first behind a mark is replaced, or, where every, whatever is found.
type mutant struct {
	name    string
	file    string
	mark    string
	find    string // regular expression
	replace string
	every   bool
}

// Mistakes in the PTX as it is shipped, each of a kind that is easily made.
var kernelMutants = []mutant{
	{name: "stage: no barrier before", file: "popcount.ptx", mark: "entry popcount1(", find: `bar\.sync \t0;`},
	{name: "stage: no barrier behind", file: "imma.ptx", mark: "entry imma4(", find: `(?s)(bar\.sync .*?)bar\.sync \t0;`, replace: "$1"},
	{name: "stage: longer than its room", file: "imma.ptx", mark: "entry imma4(", find: `min\.u32 (\t%r\d+, %r\d+), 128;`,
		replace: "min.u32 $1, 2048;"},
	{name: "append: a hit more than there is room for", file: "popcount.ptx", mark: "entry popcount1(", find: `setp\.ge\.u64`,
		replace: "setp.gt.u64"},
	{name: "flush: a hit more than there is room for", file: "popcount.ptx", mark: "entry popcount1(",
		find: `(?s)(st\.global.*?)setp\.ge\.u64`, replace: "${1}setp.gt.u64"},
	{name: "append: one place of the block's for all lanes", file: "popcount.ptx", mark: "entry popcount2(",
		find: `popc\.b32 (\t%r\d+), %r\d+;([^;]*;\s+atom\.shared)`, replace: "mov.u32 $1, 1;$2"},
	{name: "append: one place for all lanes", file: "popcount.ptx", mark: "entry popcount2(",
		find: `popc\.b32 (\t%r\d+), %r\d+;(\s+cvt\.u64\.u32 \t%rd\d+, %r\d+;\s+atom)`, replace: "mov.u32 $1, 1;$2"},
	{name: "append: the place from lane 0", file: "popcount.ptx", mark: "entry popcount4(",
		find: `(shfl\.sync\.idx\.b32 \t%r\d+\|%p\d+, %r\d+), %r\d+,`, replace: "$1, 0,"},
	{name: "append: half a warp votes", file: "popcount.ptx", mark: "entry popcount2(", find: `(mov\.u32 \t%r\d+), -1;(\s+vote)`,
		replace: "$1, 65535;$2"},
	{name: "rows: not aligned", file: "popcount.ptx", mark: "entry popcount1(", find: `(add\.s64 \t%rd\d+, %rd\d+), 512;`,
		replace: "$1, 508;"},
	{name: "product: two registers of a fragment swapped", file: "imma.ptx", mark: "entry imma2(",
		find: `(mma\.sync\S+ \{[^}]*\}, \{%r\d+),(%r\d+),(%r\d+)`, replace: "$1,$3,$2"},
	{name: "product: a query that is none counts", file: "imma.ptx", find: `(mov\.u32 \t%r\d+), -1073741824;`, replace: "$1, 0;",
		every: true},
	{name: "pairs: only the second row of a byte is looked at", file: "imma.ptx", mark: "entry imma2(", find: `-2147483584`,
		replace: "-2147483648"},
	{name: "pairs: the bit below", file: "imma.ptx", mark: "entry imma1(", find: `(shr\.u32 \t%r\d+, %r\d+), 6;`, replace: "$1, 5;"},
	{name: "pairs: the beginning is a slack too far", file: "imma.ptx", find: `-127, -64;`, replace: "-128, -64;", every: true},
	{name: "pairs: a radius of all bits is taken for another", file: "imma.ptx", mark: "entry imma2(",
		find: `mad\.lo\.s32 \t(%r\d+), (%r\d+), -127, -64;`, replace: "mad.lo.s32 \t$1, $2, 127, -64;"},
	{name: "holders: of the bit before", file: "popcount.ptx", mark: "entry popcount2(", find: `shr\.u32 (\t%r\d+, %r\d+), 1;`,
		replace: "shr.u32 $1, 2;"},
	{name: "holders: a token fewer outside", file: "imma.ptx", mark: "entry imma2(", find: `setp\.le\.u32( \t%p\d+, %r\d+, %r\d+;\s+shr)`,
		replace: "setp.lt.u32$1"},
	{name: "holders: of the first 64 tokens", file: "paper.ptx", find: `setp\.lt\.u32( \t%p\d+, %r119, %r53;)`, replace: "setp.gt.u32$1"},
	{name: "holders: further bits left out", file: "bmma.ptx", mark: "entry bmma4(", find: `(shr\.u32 \t%r\d+, %r\d+), 16;(\s+setp)`,
		replace: "$1, 15;$2"},
	{name: "distance: a radius less", file: "paper.ptx", find: `setp\.gt\.u32`, replace: "setp.ge.u32"},
}

// Mistakes of the host.
var hostMutants = []mutant{
	{name: "scan does not wait for what was uploaded", file: "staging.go", find: `return d\.call\("cuStreamWaitEvent".*`,
		replace: "return nil"},
	{name: "staging buffer is used again too soon", file: "staging.go", find: `return next, d\.await\("cuEventSynchronize".*`,
		replace: "return next, nil"},
	{name: "scan waits for itself, not for what was uploaded", file: "staging.go", find: `staging\.copied, d\.staging\.stream`,
		replace: "staging.copied, stream"},
	{name: "results are read before they are there", file: "wait.go", mark: "func (d *Device) awaitStream", find: `return d\.await\(.*`,
		replace: "return nil"},
	{name: "count is set to zero on another stream", file: "launch.go", find: `MemsetD32\(l\.found\.at, 0, 2, l\.stream\)`,
		replace: "MemsetD32(l.found.at, 0, 2, d.staging.stream)"},
	{name: "half of the count is set to zero", file: "launch.go", find: `MemsetD32\(l\.found\.at, 0, 2,`,
		replace: "MemsetD32(l.found.at, 0, 1,"},
	{name: "events that cannot be timed", file: "lane.go", find: `EventCreate\(event, driver\.EventBlocking\)`,
		replace: "EventCreate(event, driver.EventUntimed)"},
	{name: "rows are freed while they are copied", file: "rows.go", mark: "func (r *Rows) free", find: `err := d\.awaitStream.*`,
		replace: "var err error"},
	{name: "rows go to an address that is not aligned", file: "rows.go", find: `4\*uint64\(w\*c\.stride\+at\)`,
		replace: "uint64(4*w*c.stride+at)"},
	{name: "a chunk is smaller than a tile", file: "rows.go", find: `chunkUnit = 2048 `, replace: "chunkUnit = 1024 "},
	{name: "weights: a bit counts once too often", file: "batch.go", find: `more := weight\(holders\[:words\]\) - 1`,
		replace: "more := weight(holders[:words])"},
	{name: "weights: more than a byte holds", file: "batch.go", find: `min\(n, 127\)`, replace: "n"},
	{name: "weights: a radius is at most all bits", file: "batch.go", find: `min\(radius, maxBound\)`, replace: "min(radius, 32*b.words)"},
	{name: "holders: those of the query before", file: "batch.go", find: `uint32\(len\(b\.holders\)\), uint32\(words\)`,
		replace: "uint32(max(0, len(b.holders)-words)), uint32(words)"},
	{name: "holders: none where no bit has any", file: "launch.go", find: `!l\.batch\.holding`, replace: "len(l.batch.holders) == 0"},
	{name: "too little shared memory", file: "kernel.go", find: `1024 \* 8\)`, replace: "1023 * 8)"},
	{name: "lost after a fault, although the context is new", file: "device.go", find: `d\.lost\.Store\(nil\)`},
	{name: "the context of a device that hangs is given back", file: "device.go", find: `if d\.hangs\.Load\(\)`, replace: "if false"},
	{name: "the kernel with the least time is taken", file: "choose.go", find: `median\(times\[a\]\) - median\(times\[b\]\)`,
		replace: "slices.Min(times[a]) - slices.Min(times[b])"},
	{name: "queries of the self-test fit a stage", file: "selftest.go", find: `piece: roundUp.*64\),`, replace: "piece: 64,"},
	{name: "the self-test has room for all hits", file: "selftest.go", find: `const testRoom = 1000`, replace: "const testRoom = 1 << 20"},
}

// TestMutants makes one mistake after the other and wants a test to fail: cuda's, or sigstore/gpu's. Its log is the table
// of docs/design/0006: go test ./cuda -run TestMutants -every -v.
func TestMutants(t *testing.T) {
	library, mutants := cudatest.Library(t), []mutant{hostMutants[0]} // all tests run once for each
	if *every {
		mutants = append(kernelMutants, hostMutants...)
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			test, says := caught(t, m, library)
			if test == "" {
				t.Fatalf("no test fails:\n%s", says)
			}
			t.Logf("| %s | %s | %s | %s |", m.file, m.name, test, says)
		})
	}
}

// caught is the first test that fails, and what it says.
func caught(t *testing.T, m mutant, library string) (test, says string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	command := exec.CommandContext(ctx, "go", "test", "-count=1", "-failfast", "-p=1", "-overlay="+overlay(t, m),
		"-skip=^(TestFresh|TestMutants|TestMutantsApply|TestInstructions|TestFaults|TestMisuse)$", ".", "refrain/sigstore/gpu")
	command.Env = append(os.Environ(), cudatest.LibraryVariable+"="+library)
	output, _ := command.CombinedOutput() // fails, or that is what is found
	failed := regexp.MustCompile(`(?m)^(?:\s*--- FAIL: (\S+).*\n)+`).FindAllString(string(output), -1)
	if len(failed) == 0 {
		return "", string(output)
	}
	names := regexp.MustCompile(`FAIL: (\S+)`).FindAllStringSubmatch(failed[0], -1)
	return names[len(names)-1][1], first(string(output))
}

// first is the complaint of the driver, or else the first line of the failure.
func first(output string) string {
	if _, complaint, found := strings.Cut(output, "WRONG: "); found {
		line, _, _ := strings.Cut(complaint, "\n")
		return line
	}
	line := regexp.MustCompile(`(?m)^\s+\w+_test\.go:\d+: (.*)`).FindStringSubmatch(output)
	if line == nil {
		return ""
	}
	return line[1]
}

// overlay is a file that has the go command take the mutant for the file.
func overlay(t *testing.T, m mutant) string {
	t.Helper()
	path, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mutated := filepath.Join(dir, m.file)
	MustWrite(t, mutated, []byte(m.mutate(t)))
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	MustWrite(t, filepath.Join(dir, "overlay.json"), list)
	return filepath.Join(dir, "overlay.json")
}

// MustWrite writes a file.
func MustWrite(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// mutate is the file with the mistake in it.
func (m mutant) mutate(tb testing.TB) string {
	tb.Helper()
	data, err := os.ReadFile(m.file)
	if err != nil {
		tb.Fatal(err)
	}
	from := strings.Index(string(data), m.mark)
	find := regexp.MustCompile(m.find)
	if from < 0 || !find.Match(data[from:]) {
		tb.Fatalf("%s has no %s behind %q any more", m.file, m.find, m.mark)
	}
	text := string(data[from:])
	if m.every {
		return string(data[:from]) + find.ReplaceAllString(text, m.replace)
	}
	at := find.FindStringSubmatchIndex(text)
	return string(data[:from]) + text[:at[0]] + string(find.ExpandString(nil, m.replace, text, at)) + text[at[1]:]
}

// Every mutant is one: what it replaces is there.
func TestMutantsApply(t *testing.T) {
	for _, m := range append(kernelMutants, hostMutants...) {
		data, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if m.mutate(t) == string(data) {
			t.Errorf("%s changes nothing", m.name)
		}
	}
}
