package chunks

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func written(tb testing.TB, pieces ...[]byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, "RTST", 1)
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func read(data []byte) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(data), "RTST", 1)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// TestExample is the one of the package's comment.
func TestExample(t *testing.T) {
	if got := hex.EncodeToString(written(t, []byte("abc"))); !strings.HasPrefix(got, "525453540103000080616263") || len(got) != 40 {
		t.Error(got)
	}
}

func TestReadsWhatWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{0, 1, MaxChunk - 1, MaxChunk, MaxChunk + 1, 3*MaxChunk + 5} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		cut := r.IntN(size + 1)
		got, err := read(written(t, want[:cut], want[cut:]))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
}

// TestDamage flips every bit of a file, and cuts it short at every place.
func TestDamage(t *testing.T) {
	whole := written(t, bytes.Repeat([]byte("some text "), 9))
	for i := range whole {
		if _, err := read(whole[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
		for bit := range 8 {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << bit
			_, err := read(flipped)
			if _, isFormat := errors.AsType[*FormatError](err); isFormat != (i == 4) || !isFormat && !errors.Is(err, ErrDamaged) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
}

// TestSwapped: two chunks of the same length in each other's place.
func TestSwapped(t *testing.T) {
	whole := written(t, bytes.Repeat([]byte("a"), MaxChunk), bytes.Repeat([]byte("b"), MaxChunk), []byte("c"))
	const size = headSize + MaxChunk + sumSize
	head, first, second, rest := whole[:5], whole[5:5+size], whole[5+size:5+2*size], whole[5+2*size:]
	if _, err := read(bytes.Join([][]byte{head, second, first, rest}, nil)); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

type failing struct{ after int }

var errFull = errors.New("no room")

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	w := NewWriter(&failing{after: MaxChunk / 2}, "RTST", 1)
	_, err := w.Write(make([]byte, 2*MaxChunk))
	if !errors.Is(err, errFull) || !errors.Is(w.Close(), errFull) {
		t.Error(err)
	}
}

// FuzzRead: no bytes make the reader panic, or hand out what is not there.
func FuzzRead(f *testing.F) {
	f.Add(written(f, []byte("abc")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, _ := read(data); len(got) > len(data) {
			t.Errorf("%d bytes of %d", len(got), len(data))
		}
	})
}
