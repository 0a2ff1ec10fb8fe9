// Package api answers questions over HTTP: it is the program's HTTP API.
//
// What the answers are made of comes in as small interfaces and handlers; routes.go lists the routes, and
// openapi.yaml describes them. Every JSON that is answered is a struct, which a test compares with its schema there.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"refrain/feed"
	"refrain/internal/explain"
	"refrain/internal/paths"
	"refrain/internal/problem"
	"refrain/lookup"
)

// Query is a text to look up.
type Query struct {
	Text, Lang string
	Threshold  string // a rational in (0, 1] as written, "0.8" or "4/5"; "" means the server's own
	Limit      int    // matches in all; further ones are left out, and the sentence is Truncated
}

// Sentence is one sentence of a text that was looked up, with what it repeats.
type Sentence struct {
	Index, Start, End int // place among the text's sentences; byte range in the text
	Compared          bool
	Matches           []feed.Match
	Truncated         bool // there are more, which the answer has no room for
}

// Found is what a text repeats. Missing are the partitions of the window that nobody has answered for.
type Found struct {
	Sentences []Sentence
	Missing   []int
}

// Matcher looks a text up without storing it.
type Matcher interface {
	Match(ctx context.Context, q Query) (Found, error)
}

// Recent knows the latest events, newest first.
type Recent interface {
	Latest(n int) []feed.Match
}

// ErrInput marks an error as the client's: it is answered with 400 and its text.
var ErrInput = errors.New("not understood")

// Config holds what the API is made of. Everything must be set but Index, Access and Crowded.
type Config struct {
	Posts    http.Handler // POST /v1/posts, DELETE /v1/posts/{id}
	Events   http.Handler // GET /v1/events
	Metrics  http.Handler // GET /metrics
	Matcher  Matcher
	Recent   Recent
	Index    *lookup.Index // nil: there is none, and questions about reuse are answered with 404
	Webhooks Webhooks
	Models   Models
	// Explain compares two texts.
	Explain func(ctx context.Context, a, b string) (explain.Explanation, error)
	Access  Access // nil: everybody may do everything
	// Origins are those of web pages of other sites that may ask, as https://app.example.org (CORS).
	Origins []string
	Limits  Limits
	// Crowded says that a request came on a connection beyond the limit: only health is answered. nil: there is no limit.
	Crowded func(*http.Request) bool
	// Live says why the process cannot go on; nil: it can.
	Live func(context.Context) error
	// Ready tells what holds now. Without a condition that is more than a warning the service is ready. The answer is the
	// caller's.
	Ready  func(context.Context) []Condition
	Logger *slog.Logger
	// Roles are what this process does, of those that routes name; nil: everything. What routes of other roles lead to may
	// be missing.
	Roles []string
}

// serves reports whether routes of a role are answered here.
func (c *Config) serves(role string) bool {
	return role == "" || c.Roles == nil || slices.Contains(c.Roles, role)
}

func (c *Config) validate() error {
	errs := []error{c.Limits.validate()}
	for _, f := range []struct {
		name string
		ok   bool
	}{
		{"Posts", c.Posts != nil || !c.serves(split)}, {"Events", c.Events != nil || !c.serves(answers)},
		{"Metrics", c.Metrics != nil},
		{"Matcher", c.Matcher != nil || !c.serves(answers)}, {"Recent", c.Recent != nil || !c.serves(answers)},
		{"Webhooks", c.Webhooks != nil || !c.serves(publishes)}, {"Models", c.Models != nil || !c.serves(matches)},
		{"Explain", c.Explain != nil || !c.serves(answers)},
		{"Live", c.Live != nil}, {"Ready", c.Ready != nil}, {"Logger", c.Logger != nil},
	} {
		if !f.ok {
			errs = append(errs, fmt.Errorf("api: %s is not set", f.name))
		}
	}
	return errors.Join(errs...)
}

// handlers are what the routes lead to, as far as it is not handed in.
type handlers struct {
	Config
	refusals  *refusals
	turns     turns
	durations durations
}

// elsewhere answers for a route that other processes serve.
func elsewhere(role string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.Problem{Type: problem.OtherRole, Status: http.StatusNotFound,
			Detail: fmt.Sprintf("This process does not have the role %s, which answers this: ask one that has it.", role)})
	})
}

// New returns the API. Its error names everything that Config lacks.
func New(cfg Config) (http.Handler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	a := &handlers{cfg, newRefusals(cfg.Logger), newTurns(cfg.Limits), newDurations()}
	mux := new(paths.Mux)
	methods := map[string][]string{}
	for _, r := range a.routes() {
		if !a.serves(r.role) {
			r.handler = elsewhere(r.role)
		}
		mux.Handle(r.method+" "+r.pattern(), a.crowded(r.health, a.guard(r.scope, a.checkQuery(r.query, a.negotiate(r.takes, r.gives, r.handler)))))
		methods[r.path] = append(methods[r.path], r.method)
		if r.method == http.MethodGet {
			methods[r.path] = append(methods[r.path], http.MethodHead)
		}
	}
	for _, r := range a.routes() {
		if allowed := methods[r.path]; allowed != nil {
			mux.Handle(r.pattern(), onlyMethods(allowed))
			delete(methods, r.path)
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.Problem{
			Type: problem.NoSuchPath, Status: http.StatusNotFound,
			Detail: strings.TrimSpace(paths.Hint(r.URL) + " The API is described at /openapi.yaml."),
		})
	})
	return a.observe(a.pace(a.sameOrigin(a.preflight(mux)))), nil
}
