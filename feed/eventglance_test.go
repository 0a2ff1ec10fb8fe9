package feed

import "testing"

// FuzzGlanceEvent: a glance sees what reading all of the event sees, whatever is in its strings, or says that it cannot.
func FuzzGlanceEvent(f *testing.F) {
	for _, s := range []string{"", "a", `","post":"x`, `,"later":{"source":"`, `\`, "\xff", "\n", "\u0085", `"`,
		`,"first":{"source":"a","post":"b"`} {
		f.Add("dep", s, "p", s)
		f.Add(s, "x", s, "text")
	}
	f.Fuzz(func(t *testing.T, deployment, source, post, text string) {
		m := sampleMatch()
		m.Later.Source, m.Later.Text, m.Later.Author = source, text, text
		m.Earlier.Post, m.Earlier.Text, m.Earlier.Lang = post, text, text
		m.First.Source = source
		m.Later.Meta = hostileMeta(text)
		b := m.AppendEvent(nil, deployment)
		want, err := DecodeEvent(b)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := GlanceEvent(b)
		if !ok {
			if unescaped(deployment, source, post) {
				t.Fatalf("%s: cannot be read, and its names have no escapes", b)
			}
			return
		}
		if got.ID != want.ID.String() || got.Key != Attribute(want.Later.Post) ||
			got.Later != (Name{want.Later.Source, want.Later.Post, want.Later.Author}) ||
			got.Earlier != (Name{want.Earlier.Source, want.Earlier.Post, want.Earlier.Author}) ||
			got.First != (Name{want.First.Source, want.First.Post, want.First.Author}) {
			t.Fatalf("%s: got %+v", b, got)
		}
	})
}

// hostileMeta has the keys of an event among its own: a post may hold any JSON that its source keeps.
func hostileMeta(s string) string {
	quoted := string(appendString(nil, s))
	return `{"a":1,"earlier":{"source":` + quoted + `,"post":"forged"},"first":{"source":"x","post":` + quoted + `},` +
		`"later":{"source":"x","post":"forged"},"id":"forged","partitionkey":"forged"}`
}

// TestGlanceForged: no meta takes the place of the names behind it.
func TestGlanceForged(t *testing.T) {
	m := sampleMatch()
	m.Later.Meta = hostileMeta("a")
	g, ok := GlanceEvent(m.AppendEvent(nil, "dep"))
	if !ok || g.Earlier.Post != m.Earlier.Post || g.First.Post != m.First.Post || g.Later.Post != m.Later.Post {
		t.Errorf("got %+v, %v", g, ok)
	}
}

// unescaped reports whether strings are written as they are.
func unescaped(names ...string) bool {
	for _, s := range names {
		if string(appendString(nil, s)) != `"`+s+`"` {
			return false
		}
	}
	return true
}

func TestGlanceOther(t *testing.T) {
	m := sampleMatch()
	whole := m.AppendEvent(nil, "refrain")
	for n := range whole {
		if g, ok := GlanceEvent(whole[:n]); ok {
			t.Errorf("cut to %d of %d bytes: got %+v", n, len(whole), g)
		}
	}
	for _, b := range []string{"", "{}", head, `{"type":"` + RetractedType + `"}`, " " + string(whole)} {
		if g, ok := GlanceEvent([]byte(b)); ok {
			t.Errorf("%q: got %+v", b, g)
		}
	}
}

func BenchmarkGlanceEvent(b *testing.B) {
	m := sampleMatch()
	event := m.AppendEvent(nil, "refrain")
	for name, read := range map[string]func(){
		"glance": func() { _, _ = GlanceEvent(event) },
		"whole":  func() { _, _ = DecodeEvent(event) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
	}
}
