package kafka

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go/protocol"

	"refrain/feed"
)

// newPosts is an open batch of a source.
func newPosts(tombstones string) *posts {
	cfg := Default()
	cfg.SourceName, cfg.Tombstones = "wire", tombstones
	return &posts{cfg: &cfg, end: beginning}
}

// take decodes a record with a key and a value, nil for none, and adds it unless the batch is to be handed on first.
func (p *posts) take(key string, value []byte) (d decoded, first bool) {
	r := &protocol.Record{Key: protocol.NewBytes([]byte(key))}
	if value != nil {
		r.Value = protocol.NewBytes(value)
	}
	d = p.decode(r)
	if p.follows(&d) {
		return d, true
	}
	p.add(&d, nil, p.moveClock(&d))
	return d, false
}

func TestTombstones(t *testing.T) {
	p := newPosts(DeletePost)
	p.take("a", []byte(`{"id":"a","text":"one"}`))
	p.take("a", nil)
	p.take("", nil)
	p.take(strings.Repeat("k", 1<<20), nil)
	if diff := cmp.Diff([]feed.Tombstone{{Source: "wire", Post: "a"}}, p.batch.Deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if len(p.batch.Posts) != 1 || len(p.batch.Rejected) != 2 {
		t.Errorf("%d posts and %d rejections, want the one and two keys that are no ids", len(p.batch.Posts), len(p.batch.Rejected))
	}
	for value, want := range map[string]bool{
		`{"id":"a","text":"again"}`: true, `{"id":"b","text":"two"}`: false, `{"id":"a","source":"other","text":"two"}`: false,
	} {
		if _, first := p.take("a", []byte(value)); first != want {
			t.Errorf("the batch is handed on before %s: %v, want %v", value, first, want)
		}
	}
}

func TestTombstonesAreRejectedByDefault(t *testing.T) {
	p := newPosts(Default().Tombstones)
	if d, _ := p.take("a", nil); d.err == nil || !strings.Contains(d.err.Error(), "tombstones: delete") {
		t.Errorf("error %v", d.err)
	}
	if len(p.batch.Rejected) != 1 || len(p.batch.Deleted) != 0 {
		t.Errorf("batch %+v", p.batch)
	}
}

func TestFramesOfSchemaRegistries(t *testing.T) {
	const frame = "\x00\x00\x00\x01\x02"
	for value, want := range map[string]string{
		frame + `{"id":"a","text":"one"}`:         "",
		frame + " \n" + `{"id":"a","text":"one"}`: "",
		frame + "\x02a\x06one":                    "schema 258), and no JSON object behind that: Avro and Protobuf are not read",
		frame:                                     "schema 258",
		"\x00\x00":                                "want a JSON object",
	} {
		p := newPosts(Reject)
		d, _ := p.take("k", []byte(value))
		switch {
		case want == "" && (d.err != nil || d.post.ID != "a" || d.post.Text != "one"):
			t.Errorf("%q: post %+v, %v", value, d.post, d.err)
		case want != "" && (d.err == nil || !strings.Contains(d.err.Error(), want)):
			t.Errorf("%q: error %v, want %q", value, d.err, want)
		case want != "" && string(p.batch.Rejected[0].Raw) != value:
			t.Errorf("%q: kept %q", value, p.batch.Rejected[0].Raw)
		}
	}
}

func TestCloudEvents(t *testing.T) {
	const post, at = `{"id":"a","text":"one"}`, "2026-01-02T03:04:05Z"
	want, err := feed.ParseTime(at)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := `{"specversion":"1.0","type":"t","source":"s","id":"1","time":"` + at + `","data":` + post + `}`
	for _, c := range []struct{ kind, value, want string }{
		{"application/cloudevents+json", wrapped, ""},
		{"Application/CloudEvents+JSON; charset=UTF-8", wrapped, ""},
		{"application/cloudevents+json", `{"time":"` + at + `","data_base64":"` + base64.StdEncoding.EncodeToString([]byte(post)) + `"}`, ""},
		{"application/json", post, ""}, // binary mode
		{"", wrapped, "text: missing"}, // nothing says that it is an event
		{"application/cloudevents-batch+json", "[" + wrapped + "]", "only application/cloudevents+json"},
		{"application/cloudevents+avro", "x", "only application/cloudevents+json"},
		{"application/cloudevents+json", "[]", "want a JSON object"},
		{"application/cloudevents+json", `{"id":"1"}`, "data: missing"},
		{"application/cloudevents+json", `{"data":null}`, "data: missing"},
		{"application/cloudevents+json", `{"data_base64":"%"}`, "data_base64: illegal"},
		{"application/cloudevents+json", `{"data":{},"data":{}}`, "duplicate"},
		{"application/cloudevents+json", wrapped + "{}", "something is behind"},
		{"application/cloudevents+json", wrapped[:len(wrapped)-1], "EOF"},
		{"application/cloudevents+json", `{"data":"a"}`, "want a JSON object"},
	} {
		r := &protocol.Record{Value: protocol.NewBytes([]byte(c.value)), Headers: []protocol.Header{
			{Key: "content-type", Value: []byte(c.kind)}, {Key: "ce_time", Value: []byte(at)},
		}}
		d := newPosts(Reject).decode(r)
		switch {
		case c.want == "" && (d.err != nil || d.post.ID != "a" || d.post.Text != "one" || d.post.Time != want):
			t.Errorf("%s %s: post %+v, %v", c.kind, c.value, d.post, d.err)
		case c.want != "" && (d.err == nil || !strings.Contains(d.err.Error(), c.want)):
			t.Errorf("%s %s: error %v, want %q", c.kind, c.value, d.err, c.want)
		}
	}
}

// TestTimesOfCloudEvents: a post's own time goes first, then its event's; one that is no time is passed over.
func TestTimesOfCloudEvents(t *testing.T) {
	record := time.Date(2026, 3, 3, 3, 3, 3, 0, time.UTC)
	for _, c := range []struct{ post, event, want string }{
		{`"2026-01-01T01:01:01Z"`, "2026-02-02T02:02:02Z", "2026-01-01T01:01:01Z"},
		{"null", "2026-02-02T02:02:02Z", "2026-02-02T02:02:02Z"},
		{"null", "yesterday", "2026-03-03T03:03:03Z"},
		{"null", "", "2026-03-03T03:03:03Z"},
	} {
		value := `{"time":"` + c.event + `","data":{"id":"a","text":"one","created_at":` + c.post + `}}`
		d := newPosts(Reject).decode(&protocol.Record{Time: record, Value: protocol.NewBytes([]byte(value)), Headers: []protocol.Header{
			{Key: "content-type", Value: []byte("application/cloudevents+json")},
		}})
		if want, err := feed.ParseTime(c.want); err != nil || d.err != nil || d.post.Time != want {
			t.Errorf("%+v: %v, %v, %v", c, d.post.Time, d.err, err)
		}
	}
}
