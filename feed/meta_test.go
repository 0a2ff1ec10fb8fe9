package feed

import (
	"fmt"
	"strings"
	"testing"
)

func TestWithKeepRejects(t *testing.T) {
	tests := []struct{ fields, keep, want string }{
		{"", "a,,b", `"": want the name of a field, or a path as user.followers`},
		{"", "a..b", `"a..b": want the name of a field, or a path as user.followers`},
		{"", "a,b,a", "a is given twice"},
		{"", "text", "text is the post's text, which events have anyway"},
		{"author=user.name", "user.name", "user.name is the post's author, which events have anyway"},
		{"", "lang.code", "lang.code: lang cannot be a value and an object"},
		{"", strings.Repeat("x", 101), `"` + strings.Repeat("x", 100) + `": want a name of at most 100 bytes of UTF-8`},
		{"", "a" + strings.Repeat(",a", MaxMetaFields),
			fmt.Sprintf("%d fields, and the limit is %d", MaxMetaFields+1, MaxMetaFields)},
	}
	for _, test := range tests {
		_, err := mustParseFields(t, test.fields).WithMeta(strings.Split(test.keep, ","))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got\n%v, want\n%s", test.keep, err, test.want)
		}
	}
}

func TestWithLinkRejects(t *testing.T) {
	tests := []struct{ template, want string }{
		{"https://x.com/{followers}",
			"{followers} is neither id, author, source, lang nor a field that is kept (keep: followers)"},
		{"https://x.com/{text}", "{text} is neither id, author, source, lang nor a field that is kept (keep: text)"},
		{"https://x.com/{id", `"https://x.com/{id": a { without its }`},
		{"https://x.com/id}", `"https://x.com/id}": a } without its {`},
		{"javascript:{id}", `"javascript:{id}": want it to begin with http:// or https:// and a host`},
		{"//x.com/{id}", `"//x.com/{id}": want it to begin with http:// or https:// and a host`},
		{"{url}/{id}", `"{url}/{id}": want it to begin with http:// or https:// and a host`},
		{"https://{author}.example.org/{id}",
			`"https://{author}.example.org/{id}": want it to begin with http:// or https:// and a host`},
		{"https://x.com{id}", `"https://x.com{id}": {id} would be part of the host: want a / before it`},
	}
	for _, test := range tests {
		_, err := mustWithMeta(t, "", "url").WithLink(test.template)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got\n%v, want\n%s", test.template, err, test.want)
		}
	}
}

func TestLink(t *testing.T) {
	const template = "https://x.com/{author}/status/{id}"
	meta := `{"url":"https://example.org/a b?c=d","n":12,"ok":true,"list":[1],"bad":"javascript:alert(1)","user.name":"an/n"}`
	tests := []struct {
		name, template string
		post           Post
		want           string
	}{
		{"usual", template, Post{ID: "17", Author: "ann"}, "https://x.com/ann/status/17"},
		{"no placeholder", "https://x.com/", Post{ID: "17"}, "https://x.com/"},
		{"no template", "", Post{ID: "17"}, ""},
		{"no author", template, Post{ID: "17"}, ""},
		{"no such kept field", "https://x.com/{none}", Post{ID: "17", Meta: meta}, ""},
		{"no meta", "https://x.com/{n}", Post{ID: "17"}, ""},
		{"escaped", template, Post{ID: "a/b?c=d&e#f %", Author: `ünï"<>`},
			"https://x.com/%C3%BCn%C3%AF%22%3C%3E/status/a%2Fb%3Fc%3Dd%26e%23f%20%25"},
		{"as it is", "https://x.com/{id}", Post{ID: "did:plc:a-b_c.d~e@f"}, "https://x.com/did:plc:a-b_c.d~e@f"},
		{"no way up", template, Post{ID: "17", Author: ".."}, ""},
		{"source and language", "http://x.com/?s={source}&l={lang}", Post{ID: "1", Lang: "en"}, "http://x.com/?s=wire&l=en"},
		{"kept", "https://x.com/{n}/{ok}/{user.name}", Post{ID: "1", Meta: meta}, "https://x.com/12/true/an%2Fn"},
		{"kept, and no scalar", "https://x.com/{list}", Post{ID: "1", Meta: meta}, ""},
		{"an address", "{url}", Post{ID: "1", Meta: meta}, "https://example.org/a%20b?c=d"},
		{"an id that is one", "{id}", Post{ID: "http://example.org/1"}, "http://example.org/1"},
		{"no address of the web", "{bad}", Post{ID: "1", Meta: meta}, ""},
		{"no address at all", "{id}", Post{ID: "1"}, ""},
		{"a host that ends an attribute", "{id}", Post{ID: `https://a"><img/src=x/onerror=alert(1)>`}, ""},
		{"a host with an apostrophe", "{id}", Post{ID: "https://a'b/"}, ""},
		{"a zone with marks", "{id}", Post{ID: `https://[::1%25"><x>]/`}, ""},
		{"a path and a query that end an attribute", "{id}", Post{ID: `https://a/'/?q="><script>&r='ü b#"<`},
			"https://a/%27/?q=%22%3E%3Cscript%3E&r=%27%C3%BC%20b#%22%3C"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := mustWithMeta(t, "", "url,n,ok,list,bad,user.name,none").WithLink(test.template)
			if err != nil {
				t.Fatal(err)
			}
			note := f.Finish(&test.post, "wire")
			if test.post.Link != test.want || note != "" || test.post.Source != "wire" {
				t.Errorf("got %q, note %q, source %q, want %q", test.post.Link, note, test.post.Source, test.want)
			}
		})
	}
}

func TestLinkTooLong(t *testing.T) {
	f, err := mustWithMeta(t, "", "").WithLink("https://x.com/{id}")
	if err != nil {
		t.Fatal(err)
	}
	p := Post{ID: strings.Repeat("/", MaxName)}
	want := "link left out: 3086 bytes, and the limit is 1024"
	if note := f.Finish(&p, ""); p.Link != "" || note != want {
		t.Errorf("got %q, note %q, want %q", p.Link, note, want)
	}
}
