package api

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.yaml
var description []byte

// route is one line of the API. scope is what a client needs, "" nothing; query lists the parameters it understands:
// any other is refused. health is answered also when there are too many connections.
type route struct {
	method, path string
	scope        Scope
	query        []string
	handler      http.Handler
	health       bool
}

// pattern is the path as http.ServeMux wants it: "/" alone would match everything.
func (r route) pattern() string {
	if r.path == "/" {
		return "/{$}"
	}
	return r.path
}

// routes is the list of what is served.
func (a *handlers) routes() []route {
	return []route{
		{"POST", "/v1/posts", Write, []string{"results", "map", "preset", "html", "timezone", "time_format"}, a.Posts, false},
		{"DELETE", "/v1/posts/{id}", Write, []string{"source"}, a.Posts, false},
		{"DELETE", "/v1/authors/{author}", Write, []string{"source"}, a.Posts, false},
		{"GET", "/v1/posts/{id}/reuse", Read, []string{"source", "limit", "after"}, answerFromIndex(a, a.reuse), false},
		{"GET", "/v1/texts/{group}", Read, []string{"limit", "after"}, answerFromIndex(a, a.text), false},
		{"GET", "/v1/authors/{author}/reuse", Read, []string{"source", "limit"}, answerFromIndex(a, a.author), false},
		{"GET", "/v1/events", Read, []string{"from", "until", "format"}, a.Events, false},
		{"POST", "/v1/match", Read, nil, answerWith(a, a.match), false},
		{"GET", "/v1/explain", Read, []string{"a", "b"}, answerWith(a, a.explain), false},
		{"GET", "/v1/webhooks", Admin, nil, answerWith(a, a.webhooks), false},
		{"POST", "/v1/webhooks/{name}/enable", Admin, nil, http.HandlerFunc(a.enableWebhook), false},
		{"GET", "/v1/models", Read, nil, answerWith(a, a.models), false},
		{"POST", "/v1/models/learn", Admin, nil, http.HandlerFunc(a.learnModel), false},
		{"POST", "/v1/models/{id}/use", Admin, nil, http.HandlerFunc(a.useModel), false},
		{"GET", "/livez", "", nil, http.HandlerFunc(a.live), true},
		{"GET", "/readyz", "", nil, http.HandlerFunc(a.ready), true},
		{"GET", "/metrics", Read, nil, a.Metrics, true},
		{"GET", "/openapi.yaml", "", nil, http.HandlerFunc(serveOpenAPI), false},
		{"GET", "/", Read, nil, http.HandlerFunc(a.page), false},
	}
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(description) // a client that is gone has nobody to be told
}
