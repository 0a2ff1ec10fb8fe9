package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/publish"
	"refrain/topic"
)

// TestStreamThroughTheAPI runs the real event stream behind the middleware: flushing and deadlines must reach
// the connection.
func TestStreamThroughTheAPI(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	stuck := publish.DefaultEvents()
	stuck.Topic, stuck.AwaitAccepted = top, func(context.Context) error { return errors.New("stuck") }
	stuck.Logger = slog.New(slog.DiscardHandler)
	events, err := publish.NewEvents(stuck)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config()
	cfg.Events = events
	web := httptest.NewUnstartedServer(mustNew(t, cfg))
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	web.Start()
	defer http.DefaultClient.CloseIdleConnections()
	defer web.Close()
	defer events.Close()

	resp, err := http.Get(web.URL + "/v1/events?format=ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	m := feed.Match{Later: feed.Occurrence{Post: "p"}}
	if err := top.Append(t.Context(), []topic.Record{{Data: m.AppendEvent(nil, "d")}}); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len(m.AppendEvent(nil, "d"))+1)
	if _, err := io.ReadFull(resp.Body, line); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(m.AppendEvent(nil, "d"))+"\n", string(line)); diff != "" {
		t.Error(diff)
	}

	whole, err := http.Get(web.URL + "/v1/events?from=start&until=now")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Body.Close()
	if _, err := io.ReadAll(whole.Body); err == nil {
		t.Error("a stream cut short looks whole to the client")
	}
}
