package hashcodes

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"refrain/text"
)

// TestDefaultIsWhatItsListSays: who reads the list has read the vocabulary.
func TestDefaultIsWhatItsListSays(t *testing.T) {
	list, err := os.ReadFile("default_vocabulary.txt")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(list))
	if len(words) < 5000 || !slices.IsSorted(words) {
		t.Fatalf("%d words, sorted %t", len(words), slices.IsSorted(words))
	}
	var want []uint64
	for _, w := range words {
		want = append(want, text.ID(w))
	}
	var got []uint64
	for e := range Default().Entries() {
		got = append(got, e.Token)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d tokens in the model, %d in the list, and not the same ones", len(got), len(want))
	}
}

// TestDefaultWordsAreWords: every word of the list is one token as the text is cut today, and none is an address, a tag
// or a number.
func TestDefaultWordsAreWords(t *testing.T) {
	list, err := os.ReadFile("default_vocabulary.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s text.Splitter
	for _, w := range strings.Fields(string(list)) {
		sentences, _ := s.Split(w)
		if len(sentences) != 1 || len(sentences[0].Tokens) != 1 || sentences[0].Tokens[0].Text != w {
			t.Errorf("%q is not one token: %+v", w, sentences)
		} else if k := sentences[0].Tokens[0].Kind; k != text.Word && k != text.Character {
			t.Errorf("%q is a %v", w, k)
		}
		if strings.ContainsAny(w, "@#/:0123456789") {
			t.Errorf("%q looks like no word", w)
		}
	}
}

func TestDefaultDescribesItself(t *testing.T) {
	if n := len(defaultModel); n >= 1<<20 {
		t.Errorf("%d bytes: want less than 1 MB", n)
	}
	about := Default().Description()
	if about.TextVersion != text.Version || about.Learner != "direct" || about.Bits != 64 || about.Ones != 1 {
		t.Errorf("got %+v", about)
	}
	var told struct {
		Threshold string
		Corpora   []struct {
			Name, Language string
			Sentences      int
		}
		Files    []struct{ Path, SHA256 string }
		Measured []struct {
			Threshold     string
			Before, After struct{ Queries, False int }
		}
	}
	if err := json.Unmarshal([]byte(about.TrainedOn), &told); err != nil {
		t.Fatal(err)
	}
	languages := map[string]int{}
	for _, c := range told.Corpora {
		languages[c.Language] += c.Sentences
	}
	for _, l := range []string{"en", "de", "fr", "es", "ru", "uk", "zh"} {
		if languages[l] == 0 {
			t.Errorf("no sentences in %s", l)
		}
	}
	if told.Threshold == "" || len(told.Files) == 0 || len(told.Measured) == 0 {
		t.Errorf("threshold %q, %d files, %d measurements", told.Threshold, len(told.Files), len(told.Measured))
	}
	for _, m := range told.Measured {
		chance := 2 * math.Sqrt(float64(m.Before.False+m.After.False)) // counts of rare things differ by about their root
		few := m.Before.False < 50
		if gain := float64(m.Before.False - m.After.False); m.After.Queries < 1000 || gain < -chance || !few && gain <= 0 {
			t.Errorf("at %s: %+v, no better than hashed codes: %+v", m.Threshold, m.After, m.Before)
		}
	}
}

// TestDefaultRoundTrip: the embedded bytes are the file of the model that they hold.
func TestDefaultRoundTrip(t *testing.T) {
	var b strings.Builder
	if err := Default().Write(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != string(defaultModel) {
		t.Error("written again, the model is another file")
	}
	if first, second := Default(), Default(); first != second {
		t.Error("decoded twice")
	}
}
