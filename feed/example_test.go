package feed_test

import (
	"fmt"
	"log"

	"refrain/feed"
)

// ExampleDecodePost reads a post whose fields have other names.
func ExampleDecodePost() {
	fields, err := feed.ParseFields("id=uri,text=body,author=user.name")
	if err != nil {
		log.Fatal(err)
	}
	line := `{"uri":"at://42","body":"Hello there","user":{"name":"ann"},"created_at":"2026-03-01T09:00:00+01:00"}`
	p, note, err := feed.DecodePost([]byte(line), fields)
	fmt.Printf("%s %s %v %q %q %v\n", p.ID, p.Author, p.Time, p.Text, note, err)

	_, _, err = feed.DecodePost([]byte(`{"uri":"at://43"}`), fields)
	fmt.Println(err)
	// Output:
	// at://42 ann 2026-03-01T08:00:00Z "Hello there" "" <nil>
	// text: missing
}

// ExampleDecodeEvent reads an event, as it comes from Kafka, a webhook or HTTP.
func ExampleDecodeEvent() {
	found := feed.Match{
		Scheme: "near", Jaccard: 0.9,
		Later:   feed.Occurrence{Post: "2", Author: "ben", Text: "The words."},
		Earlier: feed.Occurrence{Post: "1", Author: "ann", Text: "The words!"},
	}
	event := found.AppendEvent(nil, "my deployment")

	m, err := feed.DecodeEvent(event)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Later.Author, "repeats", m.Earlier.Author, m.Jaccard)
	// Output: ben repeats ann 0.9
}
