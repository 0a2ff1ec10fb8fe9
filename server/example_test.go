package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"refrain/server"
)

// Example runs the service inside another program, sends it a thousand posts, of which every second repeats the one
// before it, and reads the events.
func Example() {
	dir, err := os.MkdirTemp("", "refrain-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cfg := server.Default()
	cfg.DataDir, cfg.HTTP = dir, "127.0.0.1:0" // any port that is free
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := server.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := s.Ready(ctx); err != nil {
		log.Fatal(err)
	}

	var posts bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&posts, `{"id":"%d","text":"Bus number %d is late again today"}`+"\n", i, i/2)
	}
	answer, err := http.Post("http://"+s.Addr()+"/v1/posts", "application/x-ndjson", &posts)
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()

	// Everything accepted so far goes through the route before the stream ends.
	events, err := http.Get("http://" + s.Addr() + "/v1/events?from=start&until=now")
	if err != nil {
		log.Fatal(err)
	}
	defer events.Body.Close()
	repeats := 0
	for lines := bufio.NewScanner(events.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), `"identical":true`) {
			repeats++
		}
	}
	stop()
	fmt.Println(answer.Status, repeats, "posts repeat another", <-ended)
	// Output: 200 OK 500 posts repeat another <nil>
}
