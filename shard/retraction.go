package shard

import (
	"encoding/binary"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// AppendRetraction appends the CloudEvent that says that a post, or an author, was deleted at t. Its id is the xxh3-128 of
// some strings, each as an unsigned varint length and its bytes: the word "retracted", the source and the post id; or the
// words "retracted author", the source, the author and the time as it is written. So it is the same however often it is
// said of one deletion.
func AppendRetraction(dst []byte, d feed.Tombstone, t feed.Time, by *feed.Deployment) []byte {
	kind, name := "post", d.Post
	if d.Author != "" {
		kind, name = "author", d.Author
	}
	dst = append(dst, `{"specversion":"1.0","type":"`+feed.RetractedType+`","source":`...)
	dst = quote(dst, by.Name)
	dst = append(dst, `,"id":"`...)
	dst = append(dst, retractionID(d, t).String()...)
	dst = append(dst, `","time":"`...)
	dst = append(dst, t.String()...)
	dst = append(dst, `","subject":`...)
	dst = quote(dst, feed.Attribute(name))
	dst = append(dst, `,"partitionkey":`...)
	dst = quote(dst, feed.Attribute(name))
	dst = by.AppendContent(dst, feed.RetractedType)
	dst = append(dst, `,"data":{"source":`...)
	dst = quote(dst, d.Source)
	dst = append(dst, `,"`+kind+`":`...)
	dst = quote(dst, name)
	return append(dst, `}}`...)
}

// quote replaces bytes that are not UTF-8, which AppendQuote also reports as an error.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func retractionID(d feed.Tombstone, t feed.Time) feed.Hash {
	named := []string{"retracted", d.Source, d.Post}
	if d.Author != "" {
		named = []string{"retracted author", d.Source, d.Author, t.String()}
	}
	var b []byte
	for _, s := range named {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return xxh3.Hash128(b).Bytes()
}
