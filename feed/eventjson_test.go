package feed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestEventGolden: what readers of events rely on, byte by byte. Fields that a post lacks are not there.
func TestEventGolden(t *testing.T) {
	m := Match{
		ID: Hash{1}, Scheme: "near", Group: Hash{2}, Jaccard: 0.75, Hamming: 3,
		Later: Occurrence{Source: "x", Post: "p9", Author: "b", Lang: "en", Time: 1000, Sentence: 1, Start: 3,
			End: 9, Text: "later",
			Group: Hash{3}},
		Earlier: Occurrence{Source: "x", Post: "p2", Author: "a", Lang: "en", End: 57, Text: "earlier"},
		First:   First{Source: "x", Post: "p1", Author: "c"}, Occurrences: 12, Authors: 9, Coverage: 0.82,
	}
	const head = `{"specversion":"1.0","type":"dev.refrain.reuse.v1","source":"dep","id":"01000000000000000000000000000000",` +
		`"time":"1970-01-01T00:00:01Z","subject":"p9","partitionkey":"p9","datacontenttype":"application/json","data":` +
		`{"scheme":"near","group":"02000000000000000000000000000000","jaccard":0.75,"hamming":3,"identical":false,` +
		`"later":{"source":"x","post":"p9","author":"b","lang":"en","time":"1970-01-01T00:00:01Z","sentence":1,` +
		`"start":3,"end":9,"text":"later"`
	const group = `,"group":"03000000000000000000000000000000"`
	const earlier = `"earlier":{"source":"x","post":"p2","author":"a","lang":"en","time":"1970-01-01T00:00:00Z",` +
		`"sentence":0,"start":0,"end":57,"text":"earlier"`
	const tail = `"first":{"source":"x","post":"p1","author":"c","time":"1970-01-01T00:00:00Z"},"occurrences":12,` +
		`"authors":9,"authorsEstimated":false,` +
		`"coverage":0.82,"sameAuthor":false,"repost":false,"timeAdjusted":false,"truncated":false}}`
	check := func(name, want string) {
		t.Helper()
		got := string(m.AppendEvent(nil, "dep"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if back, err := DecodeEvent([]byte(got)); err != nil || !cmp.Equal(m, back) {
			t.Errorf("%s: read back: %v, %s", name, err, cmp.Diff(m, back))
		}
	}
	check("without", head+group+"},"+earlier+"},"+tail)
	m.Later.TextCut, m.Earlier.TextCut = true, true
	m.Later.Link, m.Later.Meta = "https://x.com/b/status/p9", `{"followers":12}`
	check("with", head+`,"textCut":true`+group+`,"link":"https://x.com/b/status/p9","meta":{"followers":12}},`+earlier+
		`,"textCut":true},`+tail)
	m.Measure, m.Similarity = "cosine", 0.875
	check("by another measure", strings.Replace(head, `"jaccard":0.75,`, `"jaccard":0.75,"measure":"cosine","similarity":0.875,`, 1)+
		`,"textCut":true`+group+`,"link":"https://x.com/b/status/p9","meta":{"followers":12}},`+earlier+`,"textCut":true},`+tail)
}

// TestEventRoundTrip: an event holds all of a match.
func TestEventRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sampleMatch()
		m.Coverage = 0.82 // three digits are written
		m.Later.Group = Hash(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "group"))
		m.Later.Link = rapid.SampledFrom([]string{"", "https://x.com/a"}).Draw(t, "link")
		m.Later.Meta = rapid.SampledFrom([]string{"", `{"a":[1,{"b":null}]}`,
			`{"earlier":{"source":"a","post":"b"}}`}).Draw(t, "meta")
		m.Later.Converted, m.Earlier.Converted = rapid.Bool().Draw(t, "later converted"), rapid.Bool().Draw(t, "earlier converted")
		m.Later.TextCut, m.Earlier.TextCut = rapid.Bool().Draw(t, "later cut"), rapid.Bool().Draw(t, "earlier cut")
		back, err := DecodeEvent(m.AppendEvent(nil, "dep"))
		if diff := cmp.Diff(m, back); err != nil || diff != "" {
			t.Fatalf("%v, %s", err, diff)
		}
	})
}
