package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"refrain/api"
	"refrain/feed"
	"refrain/internal/explain"
	"refrain/publish"
	"refrain/text"
)

// httpServer is the HTTP server of a service.
type httpServer struct {
	s      *service
	server *http.Server
	events *publish.Events
	recent *api.Tail
}

// latest is how many events the page at / shows.
const latest = 100

func newAPI(s *service, metrics http.Handler) (*httpServer, error) {
	a := &httpServer{s: s, recent: api.NewTail(s.events, latest)}
	a.events = publish.NewEvents(publish.EventsConfig{
		Topic: s.node.events, Settle: s.settle, Deleted: s.isDeleted, Logger: s.log,
	})
	access, err := s.access()
	if err != nil {
		return nil, err
	}
	h, err := api.New(api.Config{
		Access: access, Webhooks: s.webhooks, Models: modelsAPI{s.models}, Index: s.index,
		Posts: s.http, Events: a.events, Metrics: metrics, Matcher: a, Recent: a.recent, Explain: a.explain,
		Live: s.live, Ready: s.ready, Logger: s.log,
	})
	if err != nil {
		return nil, err
	}
	a.server = newServer(h)
	return a, nil
}

// grace is how long requests under way may take once the service is told to stop.
const grace = 4 * time.Second

// serve answers requests until ctx ends; then it finishes those under way.
func (a *httpServer) serve(ctx context.Context, l net.Listener) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		stopped <- a.stop(stop)
	}()
	if err := a.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	if err := <-stopped; err != nil {
		a.s.log.Warn("some requests were cut off", "error", err)
	}
	return nil
}

// stop ends the streams of events, lets requests finish until ctx ends, and cuts off what is left. Uploads are given
// up a little earlier, so that their clients can still be told how far they got.
func (a *httpServer) stop(ctx context.Context) error {
	a.events.Close()
	early, cancel := context.WithTimeout(ctx, grace*3/4)
	defer cancel()
	uploads := make(chan error, 1)
	go func() { uploads <- a.s.http.Shutdown(early) }()
	err := errors.Join(a.server.Shutdown(ctx), <-uploads)
	return errors.Join(err, a.server.Close())
}

// Match looks a text up in the windows of this process.
func (a *httpServer) Match(ctx context.Context, q api.Query) ([]api.Sentence, error) {
	if q.Threshold != "" && q.Threshold != a.s.cfg.Window.Threshold {
		return nil, fmt.Errorf("%w: threshold %s: this server's window answers for %s only", api.ErrInput, q.Threshold, a.s.cfg.Window.Threshold)
	}
	// A post without an id, later than everything in the window.
	p := feed.Post{Text: q.Text, Lang: q.Lang, Time: a.s.now(), Timed: true}
	var s text.Splitter
	compared, _ := s.Sentences(nil, &p, a.s.cfg.Window.MinTokens)
	pieces, _ := s.Pieces(q.Text)
	out := make([]api.Sentence, len(pieces))
	for i, piece := range pieces {
		out[i] = api.Sentence{Index: i, Start: piece.Start, End: piece.End}
	}
	for _, x := range compared {
		matches, err := a.s.match(ctx, x)
		if err != nil {
			return nil, err
		}
		out[x.Index].Compared, out[x.Index].Matches = true, matches
	}
	return out, nil
}

func (a *httpServer) explain(_ context.Context, x, y string) (explain.Explanation, error) {
	return explain.Texts(x, y, explain.Settings{
		Threshold: a.s.window.Threshold, Model: a.s.models.Model(), MinTokens: a.s.cfg.Window.MinTokens,
	}), nil
}
