package sigstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/chunks"
)

// folder holds snapshots as a directory does.
type folder map[string][]byte

// save writes what was captured, and returns its head.
func (f folder) save(tb testing.TB, c *Capture) []byte {
	tb.Helper()
	for _, p := range c.Pieces {
		if p.Name != "" {
			continue
		}
		p.Name = fmt.Sprint("piece ", len(f))
		f[p.Name] = f.written(tb, p.Write)
	}
	return f.written(tb, c.Write)
}

func (folder) written(tb testing.TB, write func(io.Writer) error) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func (f folder) open(name string) (io.ReadCloser, error) {
	data, ok := f[name]
	if !ok {
		return nil, errors.New("there is no such file")
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func mustRestore(tb testing.TB, cfg Config, g granularity, head []byte, f folder, gone Gone) *Window {
	tb.Helper()
	w, err := restore(cfg, g, bytes.NewReader(head), f.open, gone)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// answers is all that x is told by a window.
func answers(w *Window, x *feed.Sentence) string {
	groups, q := w.searcher.Search(x)
	var all []string
	for _, g := range groups {
		overlap := q.Overlap(g)
		if !theta.Reaches(overlap, len(x.Tokens), g.Size()) {
			continue
		}
		shown, identical, ok := w.groups.Earlier(g, x)
		later := ""
		w.groups.EachLater(g, x, func(l *Later) bool { later += fmt.Sprintf("%+v ", *l); return true })
		all = append(all, fmt.Sprintf("%x %d %d %+v %v %v %+v %s", w.groups.Hash(g), overlap, w.searcher.Distance(q, g), shown,
			identical, ok, w.groups.History(g, x.Source, x.Author, false), later))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// story drives a window: sentences, deletions of posts and of authors, time.
type story struct {
	*rand.Rand
	post    int
	deleted map[string]bool
}

func (s *story) gone(_, post string) bool { return s.deleted[post] }

// next returns what happens next, to be done to every window alike. It tells what each says to a sentence that comes.
func (s *story) next() func(w *Window) string {
	switch s.IntN(40) {
	case 0:
		post := fmt.Sprintf("p%06d", max(0, s.post-s.IntN(400)))
		s.deleted[post] = true
		return func(w *Window) string { w.Delete(s.gone, []feed.Name{{Post: post}}); return "" }
	case 1:
		author := fmt.Sprint("a", s.IntN(9))
		return func(w *Window) string { w.DeleteAuthor("", author, nil); return "" }
	case 2:
		n := s.IntN(50)
		return func(w *Window) string { w.PurgeSome(n); return "" }
	}
	s.post++
	x := randomSentence(s.Rand, s.post, feed.Time(s.post*4-s.IntN(100)))
	if s.IntN(30) == 0 {
		x.Link, x.Meta, x.Lang, x.Repost, x.Post = "https://refrain.test", `{"a":1}`, "en", true, fmt.Sprint(s.post)
	}
	forward, asks := s.IntN(3) == 0, s.IntN(10) == 0 // who asks removes what is deleted of all rows: this index finds them all
	return func(w *Window) (said string) {
		if asks {
			said = answers(w, &x)
		}
		w.Insert(&x)
		if forward {
			w.Advance(feed.Time(s.post * 4))
		}
		return said
	}
}

// TestRestoredGoesOnAsTheWindow captures windows at any moment, restores them, and lets the same happen to both: they answer
// alike, and so do those that are restored from the restored ones.
func TestRestoredGoesOnAsTheWindow(t *testing.T) {
	seeds := uint64(16)
	if testing.Short() {
		seeds = 3
	}
	var captured, reused, lists, purging int
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 9))
		g := granularity{parts: 1 + r.IntN(20), minRows: 1 + r.IntN(200), thinFrom: 2 + r.IntN(16)}
		cfg := Config{Span: 2 * time.Second, Lateness: 100 * time.Millisecond, OmitTexts: r.IntN(3) == 0, Model: mustModel(t),
			Engine: newAllRows, Budget: []int64{0, 100_000}[r.IntN(2)]}
		w, f := newWindow(cfg, g), folder{}
		restored := newWindow(cfg, g)
		s := &story{r, 0, map[string]bool{}}
		for range 2500 {
			step := s.next()
			if got, want := step(restored), step(w); got != want {
				t.Fatalf("seed %d, %d posts: the restored window says\n%s, want\n%s", seed, s.post, got, want)
			}
			if r.IntN(60) > 0 {
				continue
			}
			files := len(f)
			c := restored.Capture()
			head := f.save(t, c)
			restored = mustRestore(t, cfg, g, head, f, s.gone)
			got, want := restored.Stats(), w.Stats()
			got.Bytes, want.Bytes = 0, 0
			if restored.groups.purge.isPending() || w.groups.purge.isPending() { // the walk of a restored window begins anew
				got.Occurrences, want.Occurrences = got.Occurrences+int(got.Counts.Deleted), want.Occurrences+int(want.Counts.Deleted)
				got.Groups, want.Groups, got.Counts.Deleted, want.Counts.Deleted = 0, 0, 0, 0
			}
			if cfg.Budget == 0 && got != want { // else the budget is met at other moments
				t.Fatalf("seed %d, %d posts: got %+v, want %+v", seed, s.post, got, want)
			}
			for range 5 {
				x := randomSentence(r, 999_999, feed.Time(s.post*4))
				if got, want := answers(restored, &x), answers(w, &x); got != want {
					t.Fatalf("seed %d, %d posts: just restored, it says\n%s, want\n%s", seed, s.post, got, want)
				}
			}
			captured, reused = captured+1, reused+len(c.Pieces)-(len(f)-files)
			lists, purging = lists+len(restored.groups.lists.all), purging+oneIf(restored.groups.purge.isPending())
			if cfg.Budget > 0 {
				w = mustRestore(t, cfg, g, head, f, s.gone)
			}
		}
	}
	t.Logf("%d restored, %d pieces used again, %d lists, %d with deletions under way", captured, reused, lists, purging)
	if captured == 0 || reused == 0 || lists == 0 || purging == 0 {
		t.Error("some of that did not happen")
	}
}

// TestCapturedStaysAsItWas: what is written later, while the window goes on, is the window of the moment of the capture.
func TestCapturedStaysAsItWas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	g := granularity{parts: 4, minRows: 50, thinFrom: 4}
	cfg := Config{Span: 2 * time.Second, Lateness: 100 * time.Millisecond, Model: mustModel(t), Engine: newAllRows}
	w, s := newWindow(cfg, g), &story{r, 0, map[string]bool{}}
	for range 1000 {
		s.next()(w)
	}
	c, written := w.Capture(), make(chan []byte)
	f := folder{}
	want := w.Stats()
	go func() { written <- f.save(t, c) }()
	for range 1000 {
		s.next()(w)
	}
	got := mustRestore(t, cfg, g, <-written, f, s.gone).Stats()
	if got.Bytes, want.Bytes = 0, 0; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRestoreRefuses what is of another window, and what is damaged.
func TestRestoreRefuses(t *testing.T) {
	g := granularity{parts: 4, minRows: 20, thinFrom: 4}
	cfg := Config{Span: 2 * time.Second, Lateness: 100 * time.Millisecond, Model: mustModel(t), Engine: newAllRows}
	w, s := newWindow(cfg, g), &story{rand.New(rand.NewPCG(1, 1)), 0, map[string]bool{}}
	for range 200 {
		s.next()(w)
	}
	f := folder{}
	head := f.save(t, w.Capture())
	for what, change := range map[string]func(*Config){
		"span": func(c *Config) { c.Span++; c.Span = c.Span.Round(time.Hour) + time.Hour }, "texts": func(c *Config) { c.OmitTexts = true },
		"lateness": func(c *Config) { c.Lateness = 0 }, "key": func(c *Config) { c.AuthorKey[0] = 1 },
	} {
		other := cfg
		change(&other)
		if _, err := restore(other, g, bytes.NewReader(head), f.open, s.gone); !errors.Is(err, ErrOther) {
			t.Errorf("another %s: %v", what, err)
		}
	}
	for i := range head {
		if _, err := restore(cfg, g, bytes.NewReader(head[:i]), f.open, s.gone); !errors.Is(err, chunks.ErrDamaged) {
			t.Fatalf("a head of %d bytes of %d: %v", i, len(head), err)
		}
	}
	for name, data := range f {
		for range 50 {
			at, bit := rand.IntN(len(data)), rand.IntN(8)
			data[at] ^= 1 << bit
			if _, err := restore(cfg, g, bytes.NewReader(head), f.open, s.gone); err == nil {
				t.Errorf("bit %d of byte %d of %s is another: no error", bit, at, name)
			}
			data[at] ^= 1 << bit
		}
		delete(f, name)
		if _, err := restore(cfg, g, bytes.NewReader(head), f.open, s.gone); err == nil {
			t.Errorf("without %s: no error", name)
		}
		f[name] = data
	}
}

// textsOf is a window with so many texts of its own; key tells them from those of other windows.
func textsOf(cfg Config, g granularity, key uint64, n int) *Window {
	w := newWindow(cfg, g)
	for i := range n {
		tokens := []uint64{key, 1000 + uint64(i), 1_000_000, 2_000_000 + key}
		w.Insert(&feed.Sentence{Post: fmt.Sprint(i), Time: feed.Time(1000 + i*10), Tokens: tokens, Group: feed.GroupHash(tokens),
			Text: fmt.Sprintf("text %0300d of %d", i, key)})
		w.Advance(feed.Time(1000 + i*10))
	}
	return w
}

// TestPiecesOfAnotherWindow: two windows of the same numbers have pieces that fit each other in every place. One that lies under
// the name of the other, without any damage, is known.
func TestPiecesOfAnotherWindow(t *testing.T) {
	g := granularity{parts: 4, minRows: 20, thinFrom: 4}
	cfg := Config{Span: 2 * time.Second, Model: mustModel(t), Engine: newAllRows}
	f, other := folder{}, folder{}
	head := f.save(t, textsOf(cfg, g, 1, 100).Capture())
	other.save(t, textsOf(cfg, g, 2, 100).Capture())
	if len(f) < 2 || len(other) != len(f) {
		t.Fatalf("%d and %d pieces", len(f), len(other))
	}
	for name, data := range f {
		f[name] = other[name]
		if _, err := restore(cfg, g, bytes.NewReader(head), f.open, nil); !errors.Is(err, chunks.ErrDamaged) {
			t.Errorf("%s is of another window: %v", name, err)
		}
		f[name] = data
	}
	mustRestore(t, cfg, g, head, f, nil)
}

// TestRestoredWithinTheBudget: a window that may hold less than what was captured is not made larger than it may be, neither by
// blocks, nor by lists, nor by an index. One that may hold what was captured is restored.
func TestRestoredWithinTheBudget(t *testing.T) {
	cfg := Config{Span: time.Hour, Model: mustModel(t), Engine: newAllRows}
	said := newWindow(cfg, defaultGranularity)
	for i := range 20_000 {
		tokens := []uint64{1, 2, 3, uint64(10 + i%10)}
		said.Insert(&feed.Sentence{Post: fmt.Sprint("post", i), Author: fmt.Sprint("author", i), Time: feed.Time(1000 + i), Tokens: tokens,
			Group: feed.GroupHash(tokens)})
	}
	for what, w := range map[string]*Window{"texts": textsOf(cfg, defaultGranularity, 1, 20_000), "lists": said} {
		f := folder{}
		head := f.save(t, w.Capture())
		for _, part := range []int64{2, 4, 16} {
			cfg.Budget = w.Bytes() / part
			if _, err := Restore(cfg, bytes.NewReader(head), f.open, nil); !errors.Is(err, ErrBudget) {
				t.Errorf("%s: %d bytes with a budget of %d: %v", what, w.Bytes(), cfg.Budget, err)
			}
		}
		cfg.Budget = w.Bytes()
		mustRestore(t, cfg, defaultGranularity, head, f, nil)
	}
}

// TestCaptureTakesLittle: what a capture copies is beside the budget. Before, occurrences of texts that are repeated were copied
// whole, and over and over while the copy grew: four times what the window holds.
func TestCaptureTakesLittle(t *testing.T) {
	w := newWindow(Config{Span: time.Hour, Model: mustModel(t), Engine: newAllRows}, defaultGranularity)
	for i := range 50_000 {
		tokens := []uint64{1, 2, 3, uint64(10 + i%50)}
		w.Insert(&feed.Sentence{Post: fmt.Sprint("the-name-of-a-post-", i), Author: fmt.Sprint("the name of an author ", i),
			Time: feed.Time(1000 + i), Tokens: tokens, Group: feed.GroupHash(tokens)})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.Capture()
	runtime.ReadMemStats(&after)
	if n := int64(after.TotalAlloc - before.TotalAlloc); n > w.Bytes()/3 {
		t.Errorf("%d bytes allocated for a window of %d", n, w.Bytes())
	}
}

// FuzzRestore: whatever a head says, nothing panics, and no more is allocated than a multiple of what is there. Its checksums
// are those of the stream around it, which is not here.
func FuzzRestore(f *testing.F) {
	g := granularity{parts: 4, minRows: 20, thinFrom: 4}
	cfg := Config{Span: 2 * time.Second, Lateness: 100 * time.Millisecond, Model: mustModel(f), Engine: newAllRows}
	for _, steps := range []int{0, 1, 30, 200} {
		w, s := newWindow(cfg, g), &story{rand.New(rand.NewPCG(1, 1)), 0, map[string]bool{}}
		for range steps {
			s.next()(w)
		}
		f.Add(folder{}.save(f, w.Capture()))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = restore(cfg, g, bytes.NewReader(head), folder{}.open, func(string, string) bool { return false })
		runtime.ReadMemStats(&after)
		const fixed, factor = 4 << 20, 8 << 10 // a page of rows for one row, a piece's list entry
		if n := after.TotalAlloc - before.TotalAlloc; n > fixed+factor*uint64(len(head)) {
			t.Errorf("%d bytes allocated for %d", n, len(head))
		}
	})
}

// TestExample is the one of the head of snapshot.go.
func TestExample(t *testing.T) {
	w := newScan(t, Config{Span: time.Hour, OmitTexts: true})
	w.Insert(&feed.Sentence{Source: "s", Post: "7", Author: "ann", Time: 5000, Tokens: []uint64{1, 2, 3, 4}, Group: feed.Hash{15: 9}, Sequence: 6,
		Version: 8, End: 7, Coverage: 1})
	var b bytes.Buffer
	c := w.blocks.current().capture()
	if err := writeBlock(&b, c.body, c.pages); err != nil {
		t.Fatal(err)
	}
	const want = "00 00 00 00 00 00 01 00 00 00 00 00 90 4e 01 " +
		"00 00 00 00 00 00 00 09 0c 00 00 00 00 00 00 00 06 00 00 00 " +
		"00 01 1c 04 00 01 01 01 01 73 03 61 6e 6e 00 47 02 06 08 00 00 00 00 00 00 00 08 00 00 00 07"
	if got := fmt.Sprintf("% x", b.Bytes()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
