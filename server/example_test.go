package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"refrain/server"
)

// Example runs the service inside another program, sends it two posts, and reads the event.
func Example() {
	dir, err := os.MkdirTemp("", "refrain-")
	check(err)
	defer os.RemoveAll(dir)
	cfg := server.Default()
	cfg.DataDir, cfg.HTTP, cfg.Logger = dir, "127.0.0.1:0", slog.New(slog.DiscardHandler) // any port that is free
	s, err := server.New(cfg)
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	check(s.Ready(ctx))

	posts := `{"id":"1","author":"ann","text":"The quick brown fox jumps over the lazy dog."}` + "\n" +
		`{"id":"2","author":"ben","text":"Look! The quick brown fox jumps over the lazy dog, again."}`
	answer, err := http.Post("http://"+s.Addr()+"/v1/posts", "application/x-ndjson", strings.NewReader(posts))
	check(err)
	answer.Body.Close()
	events, err := http.Get("http://" + s.Addr() + "/v1/events?from=start&until=now") // all of what was accepted
	check(err)
	stream, err := io.ReadAll(events.Body)
	check(err)
	events.Body.Close()
	fmt.Println(answer.Status, "- repeats:", strings.Count(string(stream), `"type":"dev.refrain.reuse.v1"`))

	stop()
	check(<-ended)
	// Output: 200 OK - repeats: 1
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
