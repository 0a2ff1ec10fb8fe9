package feed

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestParseFieldsRejects(t *testing.T) {
	long := "text=a" + strings.Repeat("+a", 32)
	tests := []struct{ spec, want string }{
		{"body=text", `field map "body=text": "body" is no field of a post, but "text" is: want text=body`},
		{"body=uri", `field map "body=uri": "body" is no field of a post: they are id, source, author, created_at, lang, text`},
		{long, "field map " + strconv.Quote(long) + ": made of 33 names: want at most 32"},
		{"text", `field map "text": "text": want OURS=THEIRS`},
		{"text=", `field map "text=": "text=": want OURS=THEIRS`},
		{"text=a,", `field map "text=a,": "": want OURS=THEIRS`},
		{"text=a..b", `field map "text=a..b": "text=a..b": want OURS=THEIRS`},
		{"text=a,text=b", `field map "text=a,text=b": text is given twice`},
		{"text=id", `field map "text=id": id: is id already, and cannot be text too (name another for one of them)`},
		{"text=title selftext", `field map "text=title selftext": "title selftext": a space in a name: a + joins two (%2B in an ` +
			`address), and a name that has a space stands in quotes, as in text="Tweet text"`},
		{`text="a`, `field map "text=\"a": "text=\"a": a quote that is not closed`},
		{`text="a"b`, `field map "text=\"a\"b": "\"a\"b": a name with one of " and = in it stands in quotes`},
		{"text=a|", `field map "text=a|": "text=a|": want OURS=THEIRS`},
		{"text=a++b", `field map "text=a++b": "text=a++b": want OURS=THEIRS`},
		{"text=post,id=post.id", `field map "text=post,id=post.id": post: post cannot be a value and an object`},
		{"id=post,text=post.text", `field map "id=post,text=post.text": post.text: post cannot be a value and an object`},
	}
	for _, test := range tests {
		_, err := ParseFields(test.spec)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", test.spec, err, test.want)
		}
	}
}

// TestFieldsOfSeveral are posts by the expressions of the mapping language.
func TestFieldsOfSeveral(t *testing.T) {
	const tweets = "id=id_str,text=full_text|extended_tweet.full_text|text,author=user.screen_name|user"
	const reddit = "text=title+selftext|body,id=kind+id|name,created_at=date+time"
	for _, c := range []struct{ fields, line, want string }{
		{tweets, `{"id_str":"1","full_text":"long","text":"short…","user":{"screen_name":"ann"}}`, "1 ann long"},
		{tweets, `{"id_str":"1","text":"short…","extended_tweet":{"full_text":"long"},"user":"ann"}`, "1 ann long"},
		{tweets, `{"id_str":"1","extended_tweet.full_text":"long","text":"short…"}`, "1  long"},
		{tweets, `{"id_str":"1","full_text":"","extended_tweet":null,"text":"sh\u006Frt"}`, "1  short"},
		{tweets, `{"id_str":"1","full_text":7,"extended_tweet":[],"text":"short"}`, "1  short"},
		{tweets, `{"id_str":"1","full_text":"","user":{}}`, "author: want a string or a number, got an object"},
		{tweets, `{"id_str":"1","full_text":7}`, "text: want a string, got a number"},
		{tweets, `{"id_str":"1","full_text":null}`, "text: missing"},
		{tweets, `{"id_str":"1","text":""}`, "1  "},
		{reddit, `{"id":3,"kind":"t3","title":"Why?","selftext":"Because."}`, "t3/3  Why?\nBecause."},
		{reddit, `{"id":"3","kind":"","name":"n","title":"Why?","selftext":""}`, "n  Why?"},
		{reddit, `{"id":"3","kind":"t1","body":"No.","title":null}`, "t1/3  No."},
		{reddit, `{"id":"3","kind":"t1","body":"No.","date":"2018-10-10","time":"20:19:24Z"}`, "t1/3  No. 2018-10-10T20:19:24Z"},
		{`text="Tweet, ""text""",id=a."b.c"`, `{"a":{"b.c":"1"},"Tweet, \"text\"":"t"}`, "1  t"},
		{"text=a+b|a,lang=a", `{"id":"1","a":"x","b":"y"}`, "1  x\ny x"},
		{"", `{"id":"1","text":"t","lang":["de","en"]}`, "1  t de"},
		{"", `{"id":"1","text":"t","lang":[]}`, "1  t"},
		{"lang=l|lang", `{"id":"1","text":"t","l":[null],"lang":["en"]}`, "1  t en"},
	} {
		p, _, err := DecodePost([]byte(c.line), mustParseFields(t, c.fields))
		got := p.ID + " " + p.Author + " " + p.Text
		if p.Lang != "" {
			got += " " + p.Lang
		}
		if p.Timed {
			got += " " + p.Time.String()
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of %s:\n got %q\nwant %q", c.fields, c.line, got, c.want)
		}
	}
}

// FuzzParseFields: what a map says can be written again, and then says the same; and a post by it is one on both ways.
func FuzzParseFields(f *testing.F) {
	for _, s := range []string{"text=full_text|a.b|text,id=uri", `text="a ""b"""+c|d,lang=a`, "id=a+b, author = user . name|user"} {
		f.Add(s, `{"uri":"1","a":{"b":"t"},"c":"d","user":{" name":"x"}}`)
	}
	f.Fuzz(func(t *testing.T, spec, line string) {
		fields, err := ParseFields(spec)
		if err != nil {
			return
		}
		var pairs []string
		for i, e := range fields.exprs {
			pairs = append(pairs, Field(i).String()+"="+e.String())
		}
		again, err := ParseFields(strings.Join(pairs, ","))
		if err != nil {
			t.Fatalf("%q: %v", pairs, err)
		}
		if !reflect.DeepEqual(fields, again) {
			t.Fatalf("%q says something else than %q", pairs, spec)
		}
		checkQuick(t, []byte(line), fields)
	})
}

func TestFieldsPath(t *testing.T) {
	f, err := ParseFields(" text = body , id=text,author=user.name")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[Field]string{FieldText: "body", FieldID: "text", FieldAuthor: "user.name", FieldLang: "lang"} {
		got := f.Path(field)
		if got != want {
			t.Errorf("%s is called %q, want %q", field, got, want)
		}
		back, ok := f.Find(want)
		if !ok || back != field {
			t.Errorf("%q is field %s (%v), want %s", want, back, ok, field)
		}
	}
	if f, ok := f.Find("id"); ok {
		t.Errorf("id is still %s, though the map gives it another name", f)
	}
	empty, err := ParseFields("")
	if err != nil || empty.Path(FieldText) != "text" || (*Fields)(nil).Path(FieldText) != "text" {
		t.Errorf("without a map text is called %q (%v)", empty.Path(FieldText), err)
	}
}
