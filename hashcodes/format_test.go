package hashcodes

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// worked is the model of the example in format.go.
func worked(tb testing.TB) *Model {
	about := Description{Bits: 64, Ones: 2, Learner: "hand", Seed: 7, TrainedOn: `{"sentences":3}`, TextVersion: 1}
	return mustNew(tb, about, []Entry{
		{Token: 5, Frequency: 3, Positions: []uint8{1, 40}},
		{Token: 6, Frequency: 2},
		{Token: 300, Frequency: 1, Hashed: true},
	})
}

func mustWrite(tb testing.TB, m *Model) []byte {
	tb.Helper()
	var b bytes.Buffer
	err := m.Write(&b)
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestGoldenFile(t *testing.T) {
	path := filepath.Join("testdata", "worked.model")
	got := mustWrite(t, worked(t))
	if *update {
		err := os.WriteFile(path, got, 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", hex.Dump(got), hex.Dump(want))
	}
	m, err := Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	checkSame(t, m, worked(t))
}

// TestWorkedExample reads the bytes of the example out of the comment in format.go: it must be the golden file.
func TestWorkedExample(t *testing.T) {
	source, err := os.ReadFile("format.go")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(source), "Worked example")
	var got []byte
	for line := range strings.Lines(example) {
		for _, field := range strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "//\t")) {
			b, err := hex.DecodeString(field)
			if err != nil || len(b) != 1 {
				break
			}
			got = append(got, b...)
		}
	}
	if want := mustWrite(t, worked(t)); !bytes.Equal(got, want) {
		t.Errorf("the comment says\n%sthe file is\n%s", hex.Dump(got), hex.Dump(want))
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawModel(t)
		var b bytes.Buffer
		err := want.Write(&b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(iotest.OneByteReader(&b))
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, got, want)
	})
}

func checkSame(t interface {
	Helper()
	Errorf(string, ...any)
}, got, want *Model) {
	t.Helper()
	if diff := cmp.Diff(want.Description(), got.Description()); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Collect(want.Entries()), slices.Collect(got.Entries())); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for _, tokens := range [][]uint64{{5, 6}, {300}, {1, 2, 3}} {
		g, w := got.Sign(make(Signature, got.Words()), tokens), want.Sign(make(Signature, want.Words()), tokens)
		if !slices.Equal(g, w) {
			t.Errorf("signature of %v: %x, want %x", tokens, g, w)
		}
	}
}

// TestReadDamaged changes every byte of a file in turn, and cuts it at every length: no such file is a model.
func TestReadDamaged(t *testing.T) {
	file := mustWrite(t, worked(t))
	for i := range file {
		for bit := range 8 {
			damaged := bytes.Clone(file)
			damaged[i] ^= 1 << bit
			checkReadFails(t, damaged, "read model: byte ")
		}
		checkReadFails(t, file[:i], "unexpected EOF")
	}
	checkReadFails(t, append(bytes.Clone(file), 0), "bytes after the checksum")
}

func checkReadFails(t *testing.T, file []byte, want string) {
	t.Helper()
	_, err := Read(bytes.NewReader(file))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%x: got error %v, want one with %q", file, err, want)
	}
}

// TestReadErrors gives the byte and the reason for files whose checksum is right and whose content is not.
func TestReadErrors(t *testing.T) {
	head := "RFRCODES" + "\x01\x01"
	seed := "\x00\x00\x00\x00\x00\x00\x00\x00"
	good := head + "\x20\x02" + "\x01h" + seed + "\x00"
	maxID := "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	for _, c := range []struct{ file, want string }{
		{"", "byte 0: magic: unexpected EOF"},
		{"{\"model\":1}", "byte 0: not a model file"},
		{"RFRCODES\x02", "byte 8: version 2 of the format: this program reads version 1"},
		{head + "\x30\x02\x01h" + seed + "\x00\x00", "48 bits: want 32, 64, 128 or 256"},
		{head + "\x20\x09", "byte 11: ones 9: want at most 8"},
		{head + "\xa0\x00", "byte 10: bits: number not in its shortest form"},
		{head + "\x20\x02\x41", "byte 12: learner length 65: want at most 64"},
		{head + "\x20\x02\x01h" + seed + "\x01{", "training description: not JSON"},
		{head + "\x20\x02\x01h" + seed + "\x80\x80\x41", "byte 22: training description length 1064960: want at most 1048576"},
		{good + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "byte 23: entries: number of more than 64 bits"},
		{good + maxID, "byte 33: entry 0: gap: unexpected EOF"},
		{good + "\x01" + maxID + "\x80\x80\x80\x80\x10", "byte 34: entry 0: frequency 4294967296: want at most 4294967295"},
		{good + "\x02" + maxID + "\x00\x00" + "\x00", "byte 36: entry 1: gap: after the greatest token id"},
		{good + "\x02" + "\x00\x00\x00" + maxID + "\x00\x00",
			"byte 27: entry 1: gap 18446744073709551615: want at most 18446744073709551614"},
		{good + "\x01" + "\x00\x00\x03\x01\x02\x03", "byte 26: entry 0: code with 3 ones: want at most 2"},
		{good + "\x01" + "\x00\x00\x02\x01\x01", "byte 27: entry 0: position 1 after 1"},
		{good + "\x01" + "\x00\x00\x01\x20", "byte 27: entry 0: position 32 in a code of 32 bits"},
	} {
		t.Run(c.want, func(t *testing.T) { checkReadFails(t, withChecksum(c.file), c.want) })
	}
}

// withChecksum completes a file, except one that ends early on purpose.
func withChecksum(file string) []byte {
	b := []byte(file)
	if len(b) == 0 || strings.HasSuffix(file, "\xff\x01") {
		return b
	}
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
}

// TestReadHostileCount claims 2^60 entries and a learner longer than the file: memory must follow the bytes.
func TestReadHostileCount(t *testing.T) {
	var b []byte
	b = append(b, "RFRCODES\x01\x01\x20\x02\x01h\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	b = binary.AppendUvarint(b, 1<<60)
	for range 1000 {
		b = append(b, 0, 0, 0)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(bytes.NewReader(b))
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "entry 1000: gap: unexpected EOF") {
		t.Errorf("got error %v", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated for a file of %d bytes", got, len(b))
	}
}

func TestReadAndWritePassErrorsOn(t *testing.T) {
	broken := errors.New("broken disk")
	_, err := Read(iotest.ErrReader(broken))
	if !errors.Is(err, broken) {
		t.Errorf("Read: got %v, want %v", err, broken)
	}
	for limit := range len(mustWrite(t, worked(t))) {
		err := worked(t).Write(&fullDisk{left: limit, err: broken})
		if !errors.Is(err, broken) {
			t.Fatalf("Write with room for %d bytes: got %v, want %v", limit, err, broken)
		}
	}
}

// fullDisk takes so many bytes and then fails.
type fullDisk struct {
	left int
	err  error
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.left {
		return d.left, d.err
	}
	d.left -= len(b)
	return len(b), nil
}

// FuzzReadModel wants of any bytes that they are refused, or are exactly the file of the model they give.
func FuzzReadModel(f *testing.F) {
	f.Add(mustWrite(f, worked(f)))
	f.Add(mustWrite(f, mustMD5(f, 32, 1)))
	f.Add(mustWrite(f, mustNew(f, Description{Bits: 256, Ones: 8, Learner: "hand", TrainedOn: "[]"}, newEntries(50, 8))))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, file []byte) {
		checkReadIsExact(t, file)
		// With a right checksum the content is what is tried.
		if len(file) >= 8 {
			body := file[:len(file)-8]
			checkReadIsExact(t, binary.LittleEndian.AppendUint64(bytes.Clone(body), xxh3.Hash(body)))
		}
	})
}

func checkReadIsExact(t *testing.T, file []byte) {
	m, err := Read(bytes.NewReader(file))
	if err != nil {
		if !strings.HasPrefix(err.Error(), "read model: byte ") {
			t.Errorf("error without a place: %v", err)
		}
		return
	}
	if again := mustWrite(t, m); !bytes.Equal(again, file) {
		t.Errorf("read\n%swrote\n%s", hex.Dump(file), hex.Dump(again))
	}
}

func BenchmarkRead(b *testing.B) {
	file := mustWrite(b, mustNew(b, Description{Bits: 64, Ones: 2, Learner: "hand"}, newEntries(100_000, 2)))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		_, err := Read(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
	}
}
