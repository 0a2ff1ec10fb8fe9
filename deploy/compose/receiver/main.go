// Receiver takes the webhooks of the example, checks their signatures, and prints a line for every event.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"refrain/feed"
	"refrain/internal/terminal"
)

// maxBody is more than an event has, also in a batch of a hundred.
const maxBody = 32 << 20

func main() {
	address := flag.String("http", "127.0.0.1:8081", "address to listen at")
	flag.Parse()
	hook, err := webhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatalf("WEBHOOK_SECRET: %v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	server := &http.Server{Addr: *address, Handler: handler(hook, os.Stdout), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) }) // what it cannot do is to be seen below
	log.Printf("waiting for webhooks at %s", *address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// handler answers 204 when the event is printed. A receiver that does more would first store the event by its
// webhook-id, for it may come again, and do the rest after the answer.
func handler(hook *webhooks.Webhook, out io.Writer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := hook.Verify(body, r.Header); err != nil {
			log.Printf("refused: %v", err)
			http.Error(w, "the signature does not fit", http.StatusUnauthorized)
			return
		}
		if m, err := feed.DecodeEvent(body); err == nil {
			fmt.Fprintln(out, line(&m))
		} else if retraction := deletion(body); retraction != "" {
			fmt.Fprintln(out, retraction)
		} else { // signed, so ours: of a kind that is not shown here
			fmt.Fprintf(out, "%s: %d bytes\n", r.Header.Get("webhook-id"), len(body))
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// deletion is a retraction on one line, and empty for anything else.
func deletion(body []byte) string {
	var e struct {
		Type, Time string
		Data       struct{ Post, Author string }
	}
	switch err := json.Unmarshal(body, &e); {
	case err != nil || e.Type != feed.RetractedType:
		return ""
	case e.Data.Author != "":
		return fmt.Sprintf("%s  deleted: all that %s had posted", e.Time, terminal.Clean(e.Data.Author))
	default:
		return fmt.Sprintf("%s  deleted: post %s", e.Time, terminal.Clean(e.Data.Post))
	}
}

// line is an event on one line. Texts are strangers', so nothing in them may steer a terminal.
func line(m *feed.Match) string {
	return fmt.Sprintf("%s  %s%.2f  %s repeats %s (seen %d times since %s): %s", m.Later.Time, measure(m), m.Value(),
		terminal.Clean(m.Later.Author), terminal.Clean(m.Earlier.Author), m.Occurrences, m.First.Time,
		terminal.Clean(m.Later.Text))
}

// measure is the name of one that is not Jaccard.
func measure(m *feed.Match) string {
	if m.Measure == "" {
		return ""
	}
	return m.Measure + " "
}
