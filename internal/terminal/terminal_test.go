package terminal

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"refrain/feed"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// golden compares got with testdata/name.golden. Escape is written \e there, so that the file can be shown.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", `\e`)
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func columnsWide(n int) func() int { return func() int { return n } }

func match(later, earlier string) feed.Match {
	return feed.Match{
		Scheme: "near", Jaccard: 0.8571,
		Later:   feed.Occurrence{Source: "x", Post: "p9", Author: "bram", Lang: "en", Time: 1767225992500, Text: later},
		Earlier: feed.Occurrence{Source: "x", Post: "p2", Author: "anouk", Lang: "en", Time: 1767225600000, Text: earlier},
		First:   feed.First{Source: "x", Post: "p1", Time: 1767000000000}, Occurrences: 1234, Authors: 9,
	}
}

func matches() []feed.Match {
	near := match("Roads between Talber and Dalhaven are open after thick fog last night.",
		"Roads between Talber and Dalhaven are closed after thick fog last night.")
	same := match("Good morning to the town of Port Melver!", "Good morning to the town of Port Melver!")
	same.Jaccard, same.Identical, same.Repost, same.SameAuthor, same.Occurrences, same.Authors = 1, true, true, true, 2, 1
	order := match("Dog bites man in Port Melver", "Man bites dog in Port Melver")
	order.Jaccard, order.AuthorsEstimated, order.Authors = 1, true, 1040
	order.Later.Source, order.Earlier.Source, order.Later.Author = "", "", ""
	chinese := match("银塘镇的钟表匠柳星河昨天深夜在去石泉市的路上弄丢了一件生锈的地图", "银塘镇的钟表匠柳星河昨天清早在去石泉市的路上弄丢了一件生锈的地图")
	hostile := match("\x1b[2J\x1b]0;owned\x07Click here now\u202egnp.exe \x9b31m \xff", "Click here now\nplease")
	hostile.Later.Author, hostile.Earlier.Post = "mal\x1b[31mlory", "p\r2"
	hostile.Truncated, hostile.TimeAdjusted = true, true
	cut := match("Roads between Talber and", "Roads between Talber and Dalhaven")
	cut.Later.TextCut, cut.Earlier.TextCut = true, true
	return []feed.Match{near, same, order, chinese, hostile, cut}
}

// TestLikenessByMeasure: J is Jaccard; another measure is named.
func TestLikenessByMeasure(t *testing.T) {
	for want, m := range map[string]feed.Match{
		"word for word":            {Jaccard: 1, Measure: "dice", Similarity: 1, Identical: true},
		"the same words, J 1":      {Jaccard: 1},
		"the same words, cosine 1": {Jaccard: 1, Measure: "cosine", Similarity: 1},
		"J 0.667":                  {Jaccard: 2.0 / 3},
		"cosine 0.816":             {Jaccard: 2.0 / 3, Measure: "cosine", Similarity: 0.8164},
	} {
		if got := likeness(&m); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEvents(t *testing.T) {
	for name, o := range map[string]Options{
		"plain":  {},
		"colour": {Colour: true},
		"narrow": {Colour: true, Width: columnsWide(40)},
		"tiny":   {Width: columnsWide(3)},
	} {
		var blocks, lines bytes.Buffer
		for _, m := range matches() {
			if err := NewPrinter(&blocks, o, nil).Event(&m); err != nil {
				t.Fatal(err)
			}
			if err := NewPrinter(&lines, o, nil).Line(&m); err != nil {
				t.Fatal(err)
			}
		}
		golden(t, "event_"+name, blocks.String())
		golden(t, "line_"+name, lines.String())
	}
}

func TestTexts(t *testing.T) {
	var b bytes.Buffer
	p := NewPrinter(&b, Options{}, nil)
	if err := p.Texts("The quick red fox jumps", "the quick brown fox jumped over"); err != nil {
		t.Fatal(err)
	}
	want := "the quick [-brown-] fox [-jumped over-]\nThe quick {+red+} fox {+jumps+}\n"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDiff(t *testing.T) {
	tests := []struct {
		later, earlier string
		added, gone    []string
	}{
		{"a b c", "a b c", nil, nil},
		{"a x y b", "a b", []string{"x y"}, nil},
		{"a x, y b", "a b z", []string{"x", "y"}, []string{"z"}},
		{"STRASSE", "Straße", nil, nil}, // equal after case folding
		{"天气好", "天气坏", []string{"好"}, []string{"坏"}},
		{"", "only", nil, []string{"only"}},
		{"see https://example.org/1 now", "see now", nil, nil}, // addresses are no tokens
	}
	for _, tt := range tests {
		added, gone := Diff(tt.later, tt.earlier)
		if diff := cmp.Diff(tt.added, slices(tt.later, added)); diff != "" {
			t.Errorf("Diff(%q, %q): added (-want +got):\n%s", tt.later, tt.earlier, diff)
		}
		if diff := cmp.Diff(tt.gone, slices(tt.earlier, gone)); diff != "" {
			t.Errorf("Diff(%q, %q): gone (-want +got):\n%s", tt.later, tt.earlier, diff)
		}
	}
}

func slices(s string, ranges []Range) []string {
	var parts []string
	for _, r := range ranges {
		parts = append(parts, s[r.Start:r.End])
	}
	return parts
}

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain ünï 文字 👩‍👩‍👧 नमस्ते", "plain ünï 文字 👩‍👩‍👧 नमस्ते"},
		{"\x1b[31mred", "␛[31mred"},
		{"a\r\nb\tc\u2028d\u00a0e", "a  b c d e"},
		{"\x00\x7f\u0085\u009b", "␀␡ \ufffd"}, // U+0085 is a line break
		{"\xff\xc3", "\ufffd\ufffd"},
		{"\u202eabc\u202c\u2066\u200f\ufeff\u00ad\U000e0041", "abc"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Whatever a text holds, an event keeps to its width, and only our own sequences reach the terminal.
func TestNoTextEscapes(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"\x1b[2J", "\x9b", "\r", "\n", "\u202e", "文字", "é̂̃̄", "👨‍👩‍👧", " ", "\xff",
	}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "later"), "")
		earlier := strings.Join(rapid.SliceOf(piece).Draw(t, "earlier"), "")
		width := rapid.IntRange(8, 60).Draw(t, "width")
		m := match(text, earlier)
		m.Later.Author, m.Earlier.Post = text, earlier
		var b bytes.Buffer
		p := NewPrinter(&b, Options{Colour: true, Width: columnsWide(width)}, nil)
		if err := p.Event(&m); err != nil {
			t.Fatal(err)
		}
		if err := p.Line(&m); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
			checkLine(t, line, width)
		}
	})
}

func checkLine(t *rapid.T, line string, width int) {
	for _, code := range append(codes[1:], reset) {
		line = strings.ReplaceAll(line, code, "")
	}
	if !utf8.ValidString(line) {
		t.Errorf("no UTF-8: %q", line)
	}
	if Clean(line) != line {
		t.Errorf("not clean: %q", line)
	}
	if got := uniseg.StringWidth(line); got > width+1 { // a wide character alone may exceed by one
		t.Errorf("%d columns, want %d: %q", got, width, line)
	}
}

func TestWrapKeepsWords(t *testing.T) {
	tests := []struct {
		in       string
		width    int
		maxLines int
		want     []string
	}{
		{"one two three", 7, 0, []string{"one two", "three"}},
		{"one two three", 8, 0, []string{"one two", "three"}},
		{"unbreakable", 4, 0, []string{"unbr", "eaka", "ble"}},
		{"天气很好啊", 4, 0, []string{"天气", "很好", "啊"}},
		{"天气很好啊", 5, 1, []string{"天气…"}},
		{"one two three four", 9, 2, []string{"one two", "three fo…"}},
		{"fits", 4, 1, []string{"fits"}},
		{"no limit at all", 0, 1, []string{"no limit at all"}},
		{"a\u0301\u0302b", 1, 0, []string{"a\u0301\u0302", "b"}},
	}
	for _, tt := range tests {
		var got []string
		for _, line := range wrap(Options{}.cells([]run{{tt.in, plain}}), tt.width, tt.maxLines) {
			var b strings.Builder
			Options{}.render(&b, line)
			got = append(got, b.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("wrap(%q, %d, %d) (-want +got):\n%s", tt.in, tt.width, tt.maxLines, diff)
		}
	}
}

func TestMarksDoNotPileUp(t *testing.T) {
	row := Options{}.cells([]run{{"a" + strings.Repeat("\u0301", 1000) + "b", plain}})
	if len(row) != 2 || utf8.RuneCountInString(row[0].text) != maxCluster {
		t.Errorf("got %d cells, the first of %d code points", len(row), utf8.RuneCountInString(row[0].text))
	}
}

func TestDetect(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if o := Detect(file); o.Colour || o.Live || o.width() != 0 {
		t.Errorf("a file: got %+v, want no colour, no redrawing, no width", o)
	}
	if o := Detect(&bytes.Buffer{}); o.Colour || o.Live {
		t.Errorf("a buffer: got %+v, want no colour, no redrawing", o)
	}
}

func TestDetectTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer terminal.Close()
	for _, tt := range []struct {
		term, noColor string
		colour, live  bool
	}{
		{"xterm-256color", "", true, true},
		{"xterm-256color", "1", false, true},
		{"dumb", "", false, false},
	} {
		t.Setenv("TERM", tt.term)
		t.Setenv("NO_COLOR", tt.noColor)
		o := Detect(terminal)
		if o.Colour != tt.colour || o.Live != tt.live || o.width() <= 0 {
			t.Errorf("TERM=%s NO_COLOR=%s: got colour %v, live %v, width %d; want %v, %v and a width",
				tt.term, tt.noColor, o.Colour, o.Live, o.width(), tt.colour, tt.live)
		}
	}
}

func TestCutEndsALineWhereTheTerminalEnds(t *testing.T) {
	for _, c := range []struct {
		width      int
		line, want string
	}{
		{0, "any length", "any length"}, {5, "short", "short"}, {5, "longer", "long…"}, {5, "日本語", "日本…"}, {0, "a\x1bb", "a␛b"},
	} {
		o := Options{Width: func() int { return c.width }}
		if got := o.Cut(c.line); got != c.want {
			t.Errorf("%q in %d columns: got %q, want %q", c.line, c.width, got, c.want)
		}
	}
}
