package topic_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"refrain/topic"
	"refrain/topic/jetstream"
)

// Example appends records to a topic and reads them, on the server that is part of the program. topic.NewMemory makes a
// topic that is gone when the program ends.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "refrain-")
	check(err)
	defer os.RemoveAll(dir)
	serverConfig, topicConfig := jetstream.Default(), jetstream.DefaultTopic()
	serverConfig.Dir, topicConfig.Name = dir, "words"

	server, err := jetstream.Start(serverConfig)
	check(err)
	defer server.Close()
	t, err := server.OpenTopic(ctx, topicConfig)
	check(err)
	err = t.Append(ctx, []topic.Record{{Data: []byte("one")}, {Data: []byte("two")}})
	check(err) // without an error they are durable

	start, end, err := t.Bounds(ctx)
	check(err)
	r, err := t.Open(ctx, start)
	check(err)
	defer r.Close()
	for next := start[0]; next < end[0]; {
		records, err := r.Fetch(ctx)
		check(err)
		for _, record := range records {
			fmt.Println(string(record.Data))
			next = record.Position + 1
		}
	}
	// Output:
	// one
	// two
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
