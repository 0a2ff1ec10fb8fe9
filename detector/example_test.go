package detector_test

import (
	"fmt"
	"log"

	"refrain/detector"
	"refrain/feed"
)

// Example finds what posts repeat.
func Example() {
	d, err := detector.New(detector.Default())
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range []feed.Post{
		{ID: "1", Author: "ann", Text: "The quick brown fox jumps over the lazy dog."},
		{ID: "2", Author: "ben", Text: "Look! The quick brown fox jumps over the lazy dog, again."},
	} {
		matches, err := d.Add(p)
		if err != nil {
			log.Print(err) // this is no post; the next may be one
		}
		for _, m := range matches {
			fmt.Printf("%s repeats %s: %.2f\n", m.Later.Author, m.Earlier.Author, m.Jaccard)
		}
	}
	// Output: ben repeats ann: 0.89
}

// ExampleDetector_Delete forgets a post, and all that an author has said.
func ExampleDetector_Delete() {
	cfg := detector.Default()
	cfg.Budget = 64 << 20 // bytes
	d, err := detector.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"1", "2", "3"} {
		if _, err := d.Add(feed.Post{ID: id, Author: "author of " + id, Text: "The very same words stand here again."}); err != nil {
			log.Fatal(err)
		}
	}
	if err := d.Delete(feed.Tombstone{Post: "1"}, feed.Tombstone{Author: "author of 2"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Totals().Occurrences, "sentence is left")
	// Output: 1 sentence is left
}
