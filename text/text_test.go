package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// TestUnicode: golang.org/x/text takes its tables by the version of Go. Other tables change tokens, so they need
// a new Version; then this test changes with it.
func TestUnicode(t *testing.T) {
	if got, want := norm.Version, "15.0.0"; got != want {
		t.Errorf("Unicode tables: got %s, want %s for Version %d", got, want, Version)
	}
}

// tokensOf is the normalised tokens of all sentences of post, the sign of their kind in front: c for characters.
func tokensOf(post string) []string {
	var s Splitter
	var out []string
	sentences, _ := s.Split(post)
	for _, x := range sentences {
		for _, t := range x.Tokens {
			if t.Kind == Character {
				out = append(out, "c:"+t.Text)
			} else {
				out = append(out, t.Text)
			}
		}
	}
	return out
}

func TestTokens(t *testing.T) {
	for _, tc := range []struct{ name, post, want string }{
		{"english", "Don't PANIC, it's 1,000.5 or 3:15!", "don't panic it's 1,000.5 or 3 15"},
		{"apostrophes", "don’t don't don`t don´t donʼt ‘quoted’ 'it'", "don't don't don't don't don't quoted it"},
		{"underscores", "_emphasis_ snake_case ___", "emphasis snake_case"},
		{"hyphens and slashes", "well-known and/or", "well known and or"},
		{"abbreviations", "the U.S. at 5 p.m. sharp", "the u.s at 5 p.m sharp"},
		{"colon", "user:hello Привет:мир", "user hello привет мир"},
		{"german", "Straße STRASSE GRÖßE größe", "strasse strasse grösse grösse"},
		{"decomposed", "cafe\u0301 café CAFÉ", "café café café"},
		{"full width", "Ｈｅｌｌｏ ＷＯＲＬＤ １２３", "hello world 123"},
		{"fancy letters", "𝗕𝗼𝗹𝗱 𝓼𝓬𝓻𝓲𝓹𝓽 ﬁne", "bold script fine"},
		{"turkish", "İstanbul ISPARTA", "i\u0307stanbul isparta"},
		{"greek", "ΟΔΟΣ οδός οδοσ", "οδοσ οδόσ οδοσ"},
		{"russian", "Привет, МИР! Ёлка и ёлка, и\u0306од", "привет мир ёлка и ёлка йод"},
		{"ukrainian", "п’ять п'ять пʼять", "п'ять п'ять п'ять"},
		{"chinese", "转发微博ABC 12个", "c:转 c:发 c:微 c:博 abc 12 c:个"},
		{"japanese", "カタカナとひらがな、ｶﾞ々", "c:カ c:タ c:カ c:ナ c:と c:ひ c:ら c:が c:な c:ガ c:々"},
		{"korean", "안녕하세요 세계", "안녕하세요 세계"},
		{"korean decomposed", "\u1112\u1161\u11ab 한", "한 한"},
		{"thai", "สวัสดี ๑๒๓", "c:ส c:วั c:ส c:ดี ๑๒๓"},
		{"lao khmer myanmar", "ລາວ ខ្មែរ မြန်မာ", "c:ລ c:າ c:ວ c:ខ្ c:មែ c:រ c:မြ c:န် c:မာ"},
		{"arabic", "مُحَمَّد محـــمد أحمد", "محمد محمد أحمد"},
		{"arabic hamza", "ا\u0654حمد أحمد", "أحمد أحمد"},
		{"persian joiner", "می\u200cخواهم", "میخواهم"},
		{"hebrew", "שָׁלוֹם שלום", "שלום שלום"},
		{"hindi", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"zero width", "hel\u200blo w\u00adorld \ufeffx\u2060y a\u200d\u0301", "hello world xy á"},
		{"direction marks", "\u202ahello\u202c \u2067world\u2069", "hello world"},
		{"emoji", "I ❤️ it 😀👨‍👩‍👧 1️⃣ ℹ️ 🈚 ok👍🏽ok", "i it ok ok"},
		{"nothing", "😀 !!! ... \x00 \ufffd — ♥", ""},
		{"invalid", "ab\xffcd \xe2\x82 x\xf0\x9f", "ab cd x"},
		{"control", "a\x00b\tc", "a b c"},
		{"mentions", "@Bob_1 hi @alice.example.social, a@b.com ＠Ｊｏｅ @", "@bob_1 hi @alice.example.social a b.com @joe"},
		{"chinese mention", "看@张三: 好", "c:看 @张三 c:好"},
		{"hashtags", "#Love it's #1 ＃Tag #été C# a#b", "#love it's 1 #tag #été c a b"},
		{"topics", "#天气,真好!#出去 #one #two #话题", "#天气真好 c:出 c:去 #one #two #话题"},
		{"urls", "see http://a.b/c?d=e, (https://x.org/y_(z)) www.foo.com. t.co/xyz end", "see end"},
		{"bare domain", "example.com and he.said/she.said bit.ly/2x youtu.be/a", "example.com and he.said she.said"},
		{"glued url", "смhttp://t.co/x转发http://t.cn/abc转发", "см c:转 c:发 c:转 c:发"},
		{"cut url", "so it begins http://t…", "so it begins"},
		{"cut url 2", "so it begins https…", "so it begins"},
		{"not a url", "so it begins at h…", "so it begins at h"},
		{"ligature", "ﷺ", "صلى الله عليه وسلم"},
		{"fractions", "½ ㎞ №5", "1⁄2 km no5"},
		{"zalgo", "a" + strings.Repeat("\u0316", 200), "a" + strings.Repeat("\u0316", 30)},
	} {
		want := strings.Fields(tc.want)
		if diff := cmp.Diff(want, tokensOf(tc.post),
			cmp.Transformer("empty", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestRepostMarks(t *testing.T) {
	for _, tc := range []struct {
		post   string
		repost bool
		want   string
	}{
		{"RT @bob: Hello there", true, "hello there"},
		{"RT @bob Hello there", true, "hello there"},
		{" RT  @Bob_1 : Hello", true, "hello"},
		{"RT @a: RT @b: Hello", true, "hello"},
		{"RT@bob：你", true, "c:你"},
		{"RT @bob:", true, ""},
		{"RT hello", false, "rt hello"},
		{"RT @ hello", false, "rt hello"},
		{"Hi RT @bob: x", false, "hi rt @bob x"},
		{"RTE @bob", false, "rte @bob"},
	} {
		var s Splitter
		_, repost := s.Split(tc.post)
		got := strings.Join(tokensOf(tc.post), " ")
		if repost != tc.repost || got != tc.want {
			t.Errorf("%q: got %v %q, want %v %q", tc.post, repost, got, tc.repost, tc.want)
		}
	}
}

// TestTokenRanges: the raw bytes under each token.
func TestTokenRanges(t *testing.T) {
	post := "RT @x: ﬁne  “Cafe\u0301” hel\u200blo #天气,真好!# ĞÜ. Straße http://t.co/x １２"
	var got []string
	var s Splitter
	sentences, _ := s.Split(post)
	for _, x := range sentences {
		for _, tok := range x.Tokens {
			got = append(got, post[tok.Start:tok.End]+"="+tok.Text)
		}
	}
	want := []string{"ﬁne=fine", "Cafe\u0301=café", "hel\u200blo=hello", "#天气,真好!#=#天气真好", "ĞÜ=ğü", "Straße=strasse", "１２=12"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSentenceRanges(t *testing.T) {
	post := "RT @x:  Hello there! 😀 😀\n\n !!! \nSecond one.  "
	var s Splitter
	sentences, _ := s.Split(post)
	var got []string
	for _, x := range sentences {
		got = append(got, post[x.Start:x.End])
	}
	want := []string{"Hello there! 😀 😀\n\n !!!", "Second one."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
