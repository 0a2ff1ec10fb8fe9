package file

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/ingest"
)

// endless yields n bytes of one letter, then the rest.
type endless struct {
	n    int
	rest string
}

// xs are copied, for the race detector sees every byte that is written alone.
var xs = bytes.Repeat([]byte("x"), 64<<10)

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 && e.rest == "" {
		return 0, io.EOF
	}
	if e.n == 0 {
		n := copy(p, e.rest)
		e.rest = e.rest[n:]
		return n, nil
	}
	n := copy(p[:min(len(p), e.n)], xs)
	e.n -= n
	return n, nil
}

// TestLineReaderHoldsNothing reads a line of 1 GiB: it is counted, not kept.
func TestLineReaderHoldsNothing(t *testing.T) {
	const size = 1 << 30
	lines := newLineReader(&endless{n: size, rest: "\nnext\n"}, MaxLine)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	line, n, err := lines.next()
	runtime.ReadMemStats(&after)
	if err != nil || n != size+1 || len(line) != ingest.MaxRaw {
		t.Fatalf("a line of %d bytes, %d kept, %v; want %d, %d kept", n, len(line), err, size+1, ingest.MaxRaw)
	}
	// Growing to the limit by doubling takes at most four times the limit.
	if took := after.TotalAlloc - before.TotalAlloc; took > 6*MaxLine {
		t.Errorf("took %d bytes of memory, and the limit of a line is %d", took, MaxLine)
	}
	line, _, err = lines.next()
	if err != nil || string(line) != "next\n" || lines.number != 2 {
		t.Errorf("then line %d %q, %v", lines.number, line, err)
	}
}

// TestLineReaderEdges tries lengths around the limit and around the reader's own buffer.
func TestLineReaderEdges(t *testing.T) {
	const limit = 300 << 10
	for _, size := range []int{1, 256<<10 - 1, 256 << 10, 256<<10 + 1, limit - 1, limit, limit + 1} {
		for _, end := range []string{"\nx", "\n", ""} {
			content := strings.Repeat("y", size-len(strings.TrimSuffix(end, "x"))) + end
			lines := newLineReader(strings.NewReader(content), limit)
			var got []int
			line, n, err := lines.next()
			for ; err == nil; line, n, err = lines.next() {
				got = append(got, n)
				if n <= limit && len(line) != n {
					t.Errorf("a line of %d bytes came as %d", n, len(line))
				}
			}
			want := []int{size, 1}[:1+strings.Count(end, "x")]
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("size %d, end %q: %v (-want +got):\n%s", size, end, err, diff)
			}
		}
	}
}

// TestLineReaderError: what breaks off is no line.
func TestLineReaderError(t *testing.T) {
	broken := errors.New("broken")
	lines := newLineReader(io.MultiReader(strings.NewReader("a\nb"), errReader{broken}), MaxLine)
	line, _, err := lines.next()
	if err != nil || string(line) != "a\n" {
		t.Fatalf("%q, %v", line, err)
	}
	line, _, err = lines.next()
	if !errors.Is(err, broken) || line != nil || lines.number != 1 {
		t.Errorf("line %d %q, %v; want no line and the error", lines.number, line, err)
	}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }
