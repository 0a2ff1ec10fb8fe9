package kafka

import (
	"strings"
	"testing"

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
