package feed

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// sampleMatch has the size of a usual event.
func sampleMatch() Match {
	later := Occurrence{Source: "", Post: "ira-0012345", Author: "someone", Lang: "ru", Time: 1328142900000, Sentence: 1,
		Start: 12, End: 130,
		Text: `Двукратный чемпион страны оставил попытки купить полузащитника, сообщает пресс-служба`}
	earlier := later
	earlier.Post, earlier.Text = "ira-0012300",
		`The champion has "given up" trying to buy the midfielder, says the press service`
	return Match{Scheme: "near", Jaccard: 6.0 / 7, Hamming: 3, Later: later, Earlier: earlier,
		First: First{Post: "ira-0012300", Time: 1328142900000}, Occurrences: 12, Authors: 9, Coverage: 0.8235}
}

func BenchmarkAppendEvent(b *testing.B) {
	m := sampleMatch()
	out := m.AppendEvent(nil, "refrain")
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		out = m.AppendEvent(out[:0], "refrain")
	}
}

// FuzzAppendString holds the quick way to encoding/json: what it writes reads as what went in.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a", `a"b`, "12345678\\", "1234567\x1f", "éééé\n", "\xff2345678", "1234567\x7f",
		"\u2028<>&", "12345678é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := appendString([]byte("x"), s)[1:]
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q gives %s: %v", s, got, err)
		}
		if want := strings.ToValidUTF8(s, replacement); utf8.ValidString(s) && back != want {
			t.Fatalf("%q gives %s, which is %q", s, got, back)
		}
		if !utf8.Valid(got) {
			t.Fatalf("%q gives %q", s, got)
		}
	})
}

// TestAppendTime holds our dates to the library's: every day that a post may have, and the seconds of one.
func TestAppendTime(t *testing.T) {
	check := func(v Time) {
		t.Helper()
		if got, want := string(appendTime(nil, v)), `"`+v.Time().Format("2006-01-02T15:04:05.999Z07:00")+`"`; got != want {
			t.Fatalf("%d: got %s, want %s", v, got, want)
		}
	}
	for v := Time(0); v < endOfTime; v += msPerDay {
		check(v)
		check(v + msPerDay - 1000)
		check(v + 1)
	}
	for s := range Time(86_400) {
		check(1<<40/1000*1000 + 1000*s)
	}
	check(-1000)
	check(endOfTime)
}
