package feed

import "testing"

func TestParseFieldsRejects(t *testing.T) {
	tests := []struct{ spec, want string }{
		{"body=text", `field map "body=text": "body" is no field of a post, but "text" is: want text=body`},
		{"body=uri", `field map "body=uri": "body" is no field of a post: they are id, source, author, created_at, lang, text`},
		{"text", `field map "text": "text": want OURS=THEIRS`},
		{"text=", `field map "text=": "text=": want OURS=THEIRS`},
		{"text=a,", `field map "text=a,": "": want OURS=THEIRS`},
		{"text=a..b", `field map "text=a..b": "text=a..b": want OURS=THEIRS`},
		{"text=a,text=b", `field map "text=a,text=b": text is given twice`},
		{"text=id", `field map "text=id": id: is id already, and cannot be text too (name another for one of them)`},
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
