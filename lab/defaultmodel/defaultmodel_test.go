package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/dataset"
)

func mustExclusions(t *testing.T) *exclusions {
	t.Helper()
	e, err := readExclusions()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustWords(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../hashcodes/default_vocabulary.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

// TestNothingExcludedIsInTheVocabulary. The lists of hashes are sorted, so that a merge shows what came in.
func TestNothingExcludedIsInTheVocabulary(t *testing.T) {
	e := mustExclusions(t)
	for _, w := range mustWords(t) {
		if e.contains(w) || !plain(w) {
			t.Errorf("%q is in the vocabulary", w)
		}
	}
	for name, list := range map[string]string{"words": excludedWords, "names": excludedNames, "stems": excludedStems} {
		if lines := strings.Fields(list); len(lines) < 200 || !slices.IsSorted(lines) {
			t.Errorf("%s: %d hashes, sorted %t", name, len(lines), slices.IsSorted(lines))
		}
	}
}

// TestExclusions: by the whole word and by any part of it that is a stem.
func TestExclusions(t *testing.T) {
	e := &exclusions{words: map[uint64]bool{hashOf("bad"): true}, stems: map[uint64]bool{hashOf("worse"): true}}
	for word, want := range map[string]bool{
		"bad": true, "badly": false, "worse": true, "unworsened": true, "worst": false, "": false,
	} {
		if e.contains(word) != want {
			t.Errorf("%q: got %t", word, !want)
		}
	}
}

func TestPlain(t *testing.T) {
	for word, want := range map[string]bool{
		"word": true, "don't": true, "слово": true, "är": true, "字": true,
		"字字": false, "a1": false, "2015": false, "@you": false, "#tag": false, "x.com": false, "сaт": false, "λέξη": false,
		"'": false, "": false, "abcdefghijklmnopqrstu": false,
	} {
		if plain(word) != want {
			t.Errorf("%q: got %t", word, !want)
		}
	}
}

// posts reads posts into the words of a corpus, each by an author of its own.
func posts(c corpus, texts ...string) *reading {
	r := &reading{corpus: &c, words: map[string]*uses{}}
	for _, s := range texts {
		r.count(&feed.Post{Text: s, Author: s})
	}
	return r
}

// TestAllowed: names go out by their capitals inside sentences, in one corpus of the language even if the others write them
// small; what only one corpus knows goes out.
func TestAllowed(t *testing.T) {
	many := func(s string) []string { return slices.Repeat([]string{s}, 5) }
	news := posts(corpus{name: "news", language: "en"},
		slices.Concat(many("today the man Robin said that rare things happen, and I said so"),
			many("THE CROWN WAS THE MAN'S"))...)
	tweets := posts(corpus{name: "tweets", language: "en"},
		slices.Concat(many("and the man robin said that lol lol, i said so"),
			many("A Title Has Capital Things In It"))...)
	german := posts(corpus{name: "german", language: "de"}, many("und die rare Hand, the man")...)
	got := allowed([]*reading{news, tweets, german}, &exclusions{words: map[uint64]bool{hashOf("said"): true}})
	want := []string{"and", "i", "man", "so", "that", "the", "things"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestManyAuthors stand for a second corpus where there is none.
func TestManyAuthors(t *testing.T) {
	var texts []string
	for i := range minAuthors {
		texts = append(texts, strings.Repeat("ага ", i+1)+"и слово")
	}
	c := corpus{name: "posts", language: "ru", authors: true}
	if got := allowed([]*reading{posts(c, texts...)}, &exclusions{}); !slices.Equal(got, []string{"ага", "и", "слово"}) {
		t.Errorf("%d authors: got %q", minAuthors, got)
	}
	if got := allowed([]*reading{posts(c, texts[1:]...)}, &exclusions{}); len(got) > 0 {
		t.Errorf("%d authors: got %q", minAuthors-1, got)
	}
}

func TestHashes(t *testing.T) {
	var out bytes.Buffer
	if err := printHashes(strings.NewReader("Word\n"), &out); err != nil {
		t.Fatal(err)
	}
	list := out.String()
	if len(list) != 17 || !(&exclusions{words: map[uint64]bool{hashOf("word"): true}}).contains("word") {
		t.Errorf("got %q", list)
	}
}

// TestMadeFromThisData: the model is of the recipe that stands here, and of the files as the data set has them. That the
// two give its very bytes takes minutes, and is what -check is for.
func TestMadeFromThisData(t *testing.T) {
	about := hashcodes.Default().Description()
	var r recipe
	if err := json.Unmarshal([]byte(about.TrainedOn), &r); err != nil {
		t.Fatal(err)
	}
	if about.Learner != learner || about.Bits != bits || about.Ones != ones || about.Seed != seed ||
		r.Threshold != threshold.String() ||
		r.Vocabulary > maxWords || len(r.Corpora) != len(corpora) || len(r.Files) != len(paths()) {
		t.Errorf("the recipe has changed since the model was made: %+v", about)
	}
	for i, c := range corpora {
		if got := r.Corpora[i]; got.Name != c.name || got.Language != c.language || got.Sentences > c.share+c.share/10 {
			t.Errorf("corpus %d: the model has %+v, the recipe %+v", i, got, c)
		}
	}
	sums := manifest(t)
	for i, path := range paths() {
		if got := r.Files[i]; got.Path != path || got.SHA256 != sums[path] {
			t.Errorf("%s: the model is of %+v, the data set has %s", path, got, sums[path])
		}
	}
}

// manifest reads the checksums of the data set.
func manifest(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(dataset.File(t, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sums := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		sums[fields[0]] = fields[len(fields)-1]
	}
	return sums
}

// TestCompareFile: -check writes nothing, and says what differs.
func TestCompareFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := compareFile(path, []byte("a")); err == nil {
		t.Error("a file that is not there is what was made")
	}
	if err := writeFile(path, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := compareFile(path, []byte("a")); err != nil {
		t.Error(err)
	}
	if err := compareFile(path, []byte("b")); err == nil || !strings.Contains(err.Error(), "is not what the data give") {
		t.Errorf("got %v", err)
	}
}
