package hashcodes

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/text"
)

func mustMD5(tb testing.TB, bits, ones int) *Model {
	tb.Helper()
	m, err := NewMD5(bits, ones)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func mustNew(tb testing.TB, about Description, entries []Entry) *Model {
	tb.Helper()
	m, err := New(about, entries)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestNewMD5(t *testing.T) {
	m := mustMD5(t, 128, 4)
	if m.Bits() != 128 || m.Ones() != 4 || m.Words() != 4 || m.Len() != 0 || m.Name() != "md5-128-4" {
		t.Errorf("got %d bits, %d ones, %d words, %d entries, name %q", m.Bits(), m.Ones(), m.Words(), m.Len(), m.Name())
	}
	if got := m.Description().TextVersion; got != text.Version {
		t.Errorf("text version %d, want %d", got, text.Version)
	}
	if got := m.Frequency(1); got != 0 {
		t.Errorf("frequency %d of a token outside the vocabulary, want 0", got)
	}
}

func TestNewReportsEverythingWrong(t *testing.T) {
	_, err := New(Description{Bits: 48, Ones: 9, TrainedOn: "{", TextVersion: -1}, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"48 bits", "9 ones", "learner's name", "not JSON", "text version -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %q", err, want)
		}
	}
}

func TestNewRejectsEntries(t *testing.T) {
	about := Description{Bits: 32, Ones: 2, Learner: "hand"}
	for name, entries := range map[string][]Entry{
		"token appears twice":      {{Token: 7}, {Token: 3}, {Token: 7}},
		"3 ones":                   {{Token: 1, Positions: []uint8{1, 2, 3}}},
		"position 32 in a code":    {{Token: 1, Positions: []uint8{32}}},
		"position 4 after 4":       {{Token: 1, Positions: []uint8{4, 4}}},
		"position 3 after 4":       {{Token: 1, Positions: []uint8{4, 3}}},
		"positions of its own":     {{Token: 1, Hashed: true, Positions: []uint8{4}}},
		"token 0xffffffffffffffff": {{Token: math.MaxUint64, Positions: []uint8{4, 3}}},
	} {
		_, err := New(about, entries)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: got error %v, want one with %q", entries, err, name)
		}
	}
}

func TestVocabulary(t *testing.T) {
	entries := []Entry{
		{Token: math.MaxUint64, Frequency: math.MaxUint32, Positions: []uint8{0, 63}},
		{Token: 0, Frequency: 4, Positions: []uint8{5}},
		{Token: 9, Frequency: 3},
		{Token: 8, Frequency: 2, Hashed: true},
	}
	m := mustNew(t, Description{Bits: 64, Ones: 2, Learner: "hand"}, entries)
	md5 := mustMD5(t, 64, 2)
	for _, c := range []struct {
		token     uint64
		frequency uint32
		code      Signature
	}{
		{math.MaxUint64, math.MaxUint32, Signature{1, 1 << 31}},
		{0, 4, Signature{1 << 5, 0}},
		{9, 3, Signature{0, 0}},
		{8, 2, md5.Code(make(Signature, 2), 8)},
		{10, 0, md5.Code(make(Signature, 2), 10)},
	} {
		if got := m.Frequency(c.token); got != c.frequency {
			t.Errorf("token %d: frequency %d, want %d", c.token, got, c.frequency)
		}
		dirty := Signature{math.MaxUint32, math.MaxUint32, 99}
		if got := m.Code(dirty, c.token); !slices.Equal(got, c.code) {
			t.Errorf("token %d: code %x, want %x", c.token, got, c.code)
		}
		if dirty[2] != 99 {
			t.Errorf("token %d: Code wrote behind the model's words", c.token)
		}
	}
	got := slices.Collect(m.Entries())
	want := []Entry{entries[1], entries[3], entries[2], entries[0]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Entries (-want +got):\n%s", diff)
	}
}

func TestSignIsTheOrOfTheCodes(t *testing.T) {
	m := mustNew(t, Description{Bits: 128, Ones: 3, Learner: "hand"},
		[]Entry{{Token: 1, Positions: []uint8{7, 90}}, {Token: 2}})
	tokens := []uint64{1, 2, 3, 4, 1 << 63}
	want := make(Signature, 4)
	for _, token := range tokens {
		for i, w := range m.Code(make(Signature, 4), token) {
			want[i] |= w
		}
	}
	dirty := Signature{1, 2, 3, 4, 5}
	if got := m.Sign(dirty, tokens); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if got := m.Sign(dirty, nil); !slices.Equal(got, make(Signature, 4)) {
		t.Errorf("signature %x of no tokens, want zeros", got)
	}
}

func TestCodeAndSignDoNotAllocate(t *testing.T) {
	m := mustNew(t, Description{Bits: 256, Ones: 8, Learner: "hand"}, []Entry{{Token: 1, Positions: []uint8{7}}})
	dst, tokens := make(Signature, 8), []uint64{1, 2, 3, 4}
	if n := testing.AllocsPerRun(100, func() { m.Code(dst, 2); m.Sign(dst, tokens) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkCode(b *testing.B) {
	md5 := mustMD5(b, 64, 1)
	md5wide := mustMD5(b, 256, 8)
	learned := mustNew(b, Description{Bits: 64, Ones: 1, Learner: "hand"}, newEntries(100_000, 1))
	for _, c := range []struct {
		name string
		m    *Model
	}{{"md5-64-1", md5}, {"md5-256-8", md5wide}, {"learned-64-1", learned}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make(Signature, c.m.Words())
			var token uint64
			for b.Loop() {
				c.m.Code(dst, token%100_000*7919)
				token++
			}
		})
	}
}

func BenchmarkSign(b *testing.B) {
	m := mustMD5(b, 64, 1)
	tokens := make([]uint64, 12)
	for i := range tokens {
		tokens[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	dst := make(Signature, m.Words())
	for b.Loop() {
		m.Sign(dst, tokens)
	}
}

// newEntries are n tokens with codes of the given ones.
func newEntries(n, ones int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Token: uint64(i) * 7919, Frequency: uint32(i)}
		for p := range ones {
			entries[i].Positions = append(entries[i].Positions, uint8(i%8+8*p))
		}
	}
	return entries
}
