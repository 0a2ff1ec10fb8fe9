package feed

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlainText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"no markup,\n  as it is", "no markup,\n  as it is"},
		{"a &amp; b &lt;3\n  c", "a & b <3\n  c"},
		{"a < b", "a < b"},
		{"<p>One<br>two<br />three</p><p>Four  \n five</p>\n", "One\ntwo\nthree\nFour five"},
		{"<p>the <b>same</b> wo<i>rd</i>s</p>", "the same words"},
		{`<p>See <a href="https://example.org/a/long/path"><span class="invisible">https://</span><span class="ellipsis">example.org/a</span>` +
			`<span class="invisible">/long/path</span></a> now</p>`, "See https://example.org/a/long/path now"},
		{`<p><span class="h-card"><a href="https://example.org/@ann" class="u-url mention">@<span>ann</span></a></span> hi &#39;all&#39;</p>`,
			"@ann hi 'all'"},
		{"<ul><li>a</li><li>b</li></ul><table><tr><td>1</td><td>2</td></tr></table>", "a\nb\n1 2"},
		{"a<script>alert('<b>')</script><style>p{}</style><!-- no --><img src=x alt=y>b", "ab"},
		{"<pre>a\n  b</pre>c", "a\n  b\nc"},
		{"<p></p>", ""},
		{"a&nbsp;b &copy;", "a\u00a0b ©"},
		{"<p>cut <b", "cut"},
		{"中文<br>中文", "中文\n中文"},
	} {
		got, converted := plainText(c.in)
		if got != c.want || converted != (c.in != c.want) {
			t.Errorf("%q is %q (%v), want %q", c.in, got, converted, c.want)
		}
	}
}

// TestPostsOfHTML: of texts that are HTML the converted ones are marked, whatever they are made of, and no others.
func TestPostsOfHTML(t *testing.T) {
	for _, c := range []struct {
		fields, line, want string
		converted          bool
	}{
		{"", `{"id":"1","text":"<p>a</p>"}`, "a", true},
		{"", `{"id":"1","text":"a &amp;lt; b"}`, "a &lt; b", true},
		{"", `{"id":"1","text":"a\n b"}`, "a\n b", false},
		{"text=title+body", `{"id":"1","title":"Q &amp;amp; A","body":"<p>a</p>"}`, "Q &amp; A\na", true},
		{"text=title+body", `{"id":"1","title":"Q","body":"A"}`, "Q\nA", false},
		{"text=title|body", `{"id":"1","title":"<p></p>","body":"A"}`, "A", true},
	} {
		fields := mustParseFields(t, c.fields).WithHTML()
		p, _, err := DecodePost([]byte(c.line), fields)
		if err != nil || p.Text != c.want || p.Converted != c.converted {
			t.Errorf("%s: %q, %v, %v; want %q, %v", c.line, p.Text, p.Converted, err, c.want, c.converted)
		}
		checkQuick(t, []byte(c.line), fields)
	}
}

func TestOnlyPosts(t *testing.T) {
	fields, err := mustParseFields(t, "text=commit.text").WithOnly([]string{"kind=commit", "commit.operation=create|update"})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`{"id":"1","kind":"commit","commit":{"operation":"update","text":["a ",{"type":"link","text":"b"}]}}`: "a b",
		`{"id":"1","kind":"commit","commit":{"operation":"delete"}}`:                                          `not a post: commit.operation is "delete"`,
		`{"id":"1","kind":"identity"}`: `not a post: kind is "identity"`,
		`{"id":"1","text":"a"}`:        "not a post: no kind",
	} {
		p, _, err := DecodePost([]byte(line), fields)
		if got := p.Text; got != want && (err == nil || err.Error() != want) {
			t.Errorf("%s: %q, %v; want %s", line, got, err, want)
		}
	}
}

// FuzzPlainText: what is converted is text, no longer than its HTML but for what entities stand for, and without spaces
// around its lines.
func FuzzPlainText(f *testing.F) {
	for _, s := range []string{"<p>a<br>b</p>", "a &amp; b", "<pre> a\n", "<script>", "<td>a<td>b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, converted := plainText(s)
		if converted == (got == s) {
			t.Fatalf("%q is %q, and converted %v", s, got, converted)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("%q is %q, which is no Unicode", s, got)
		}
		if !strings.ContainsAny(s, "<&") && got != s {
			t.Fatalf("%q is %q", s, got)
		}
	})
}
