package hashcodes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
)

// mutate changes some of a file: bits, its length, a number, or what stands where.
func mutate(r *rand.Rand, file []byte) (what string, changed []byte) {
	b := bytes.Clone(file)
	at, n := r.IntN(len(b)), 1+r.IntN(len(b)/4)
	to := min(len(b), at+n)
	switch kind := r.IntN(8); kind {
	case 0:
		for range 1 + r.IntN(8) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return "bits", b
	case 1: // where the lengths and counts of the header are
		b[r.IntN(min(len(b), 64))] ^= 1 << r.IntN(8)
		return "a bit of the header", b
	case 2:
		return fmt.Sprint("cut at ", at), b[:at]
	case 3:
		return fmt.Sprintf("%d to %d twice", at, to), slices.Insert(b, to, file[at:to]...)
	case 4:
		return fmt.Sprintf("%d to %d gone", at, to), slices.Delete(b, at, to)
	case 5:
		huge := binary.AppendUvarint(nil, r.Uint64()>>r.IntN(64))
		return fmt.Sprintf("%x at %d", huge, min(at, 80)), slices.Replace(b, min(at, 80), min(at, 80)+1, huge...)
	case 6:
		for i := at; i < to; i++ {
			b[i] = 0xff
		}
		return fmt.Sprintf("%d to %d all ones", at, to), b
	default:
		for range 1 + r.IntN(3) {
			b = append(b, file...)
		}
		return "several files", b
	}
}

// TestMutatedModels: 4,000 files that are nearly that of a real model, half of them with a right checksum, so that
// their content is what is tried. Each is refused with a place, or is the file of the model that it gives, in memory
// that follows its bytes.
func TestMutatedModels(t *testing.T) {
	real := Default()
	small := mustNew(t, real.Description(), slices.Collect(real.Entries())[:400])
	files := [][]byte{mustWrite(t, small), mustWrite(t, worked(t)), mustWrite(t, mustMD5(t, 128, 2))}
	r, taken, refused := rand.New(rand.NewPCG(16, 4000)), 0, map[string]int{}
	for i := range 4000 {
		what, b := mutate(r, files[[]int{0, 0, 0, 1, 2}[i%5]])
		if i%2 == 0 && len(b) > 8 {
			body := b[:len(b)-8]
			b = binary.LittleEndian.AppendUint64(bytes.Clone(body), xxh3.Hash(body))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Read(bytes.NewReader(b))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20+200*uint64(len(b)) {
			t.Errorf("%d: %s: %d bytes allocated for %d", i, what, got, len(b))
		}
		switch {
		case err == nil:
			taken++
			if !bytes.Equal(mustWrite(t, m), b) {
				t.Errorf("%d: %s: the model has another file", i, what)
			}
		case !strings.HasPrefix(err.Error(), "read model: byte ") || len(err.Error()) > 300:
			t.Errorf("%d: %s: %v", i, what, err)
		default:
			refused[strings.TrimRight(strings.Join(strings.Fields(err.Error())[3:5], " "), ":")]++
		}
	}
	if taken == 0 || taken > 1000 || len(refused) < 10 {
		t.Errorf("%d of 4000 were taken, and others refused for %d reasons: too few of either are tried", taken, len(refused))
	}
}
