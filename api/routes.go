package api

import (
	"embed"
	"net/http"

	"refrain/internal/problem"
)

//go:embed openapi.yaml
var description []byte

//go:embed asyncapi.yaml
var asyncDescription []byte

// schemas are the JSON Schemas of the events' data, by the names of their files.
//
//go:embed schemas/*.json
var schemas embed.FS

// route is one line of the API. scope is what a client needs, "" nothing; query lists the parameters it understands:
// any other is refused. takes are the types that its body may have, gives those of its answer; none: nobody is asked.
// health is answered also when there are too many connections. role is that of the processes which serve it; "": all do.
type route struct {
	method, path string
	scope        Scope
	query        []string
	takes, gives []string
	handler      http.Handler
	health       bool
	role         string
}

// The roles of server.Roles that have routes.
const (
	split     = "split"
	matches   = "match"
	publishes = "publish"
	answers   = "api"
)

// Types of bodies and answers.
var (
	jsonType   = []string{"application/json"}
	postTypes  = []string{"application/json", "application/x-ndjson", "application/ndjson", "application/jsonl"}
	schemaType = []string{"application/schema+json", "application/json"}
	yamlType   = []string{"application/yaml"}
	htmlType   = []string{"text/html"}
)

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
		{"POST", "/v1/posts", Write, []string{"results", "map", "preset", "html", "timezone", "time_format"}, postTypes, jsonType, a.Posts, false, split},
		{"DELETE", "/v1/posts/{id}", Write, []string{"source"}, nil, nil, a.Posts, false, split},
		{"DELETE", "/v1/authors/{author}", Write, []string{"source"}, nil, nil, a.Posts, false, split},
		{"GET", "/v1/posts/{id}/reuse", Read, []string{"source", "limit", "after"}, nil, jsonType, answerFromIndex(a, a.reuse), false, answers},
		{"GET", "/v1/texts/{group}", Read, []string{"limit", "after"}, nil, jsonType, answerFromIndex(a, a.text), false, answers},
		{"GET", "/v1/authors/{author}/reuse", Read, []string{"source", "limit"}, nil, jsonType, answerFromIndex(a, a.author), false, answers},
		{"GET", "/v1/events", Read, []string{"from", "until", "format"}, nil, nil, a.Events, false, answers},
		{"POST", "/v1/match", Read, nil, jsonType, jsonType, answerWith(a, a.match), false, answers},
		{"GET", "/v1/explain", Read, []string{"a", "b"}, nil, jsonType, answerWith(a, a.explain), false, answers},
		{"GET", "/v1/webhooks", Admin, nil, nil, jsonType, answerWith(a, a.webhooks), false, publishes},
		{"GET", "/v1/webhooks/{name}/deliveries", Admin, []string{"limit", "after", "outcome"}, nil, jsonType, answerWith(a, a.deliveries), false, publishes},
		{"POST", "/v1/webhooks/{name}/enable", Admin, nil, nil, nil, a.switchWebhook(Webhook.Enable), false, publishes},
		{"POST", "/v1/webhooks/{name}/pause", Admin, nil, nil, nil, a.switchWebhook(Webhook.Pause), false, publishes},
		{"POST", "/v1/webhooks/{name}/resume", Admin, nil, nil, nil, a.switchWebhook(Webhook.Resume), false, publishes},
		{"POST", "/v1/webhooks/{name}/test", Admin, nil, nil, jsonType, answerWith(a, a.testWebhook), false, publishes},
		{"POST", "/v1/webhooks/{name}/replay", Admin, nil, jsonType, jsonType, a.forwarding(a.replayWebhook), false, publishes},
		{"GET", "/v1/models", Read, nil, nil, jsonType, answerWith(a, a.models), false, matches},
		{"POST", "/v1/models/learn", Admin, nil, nil, nil, http.HandlerFunc(a.learnModel), false, matches},
		{"POST", "/v1/models/{id}/use", Admin, nil, nil, nil, http.HandlerFunc(a.useModel), false, matches},
		{"GET", "/livez", "", nil, nil, nil, http.HandlerFunc(a.live), true, ""},
		{"GET", "/readyz", "", nil, nil, nil, http.HandlerFunc(a.ready), true, ""},
		{"GET", "/metrics", Read, nil, nil, nil, a.Metrics, true, ""},
		{"GET", "/openapi.yaml", "", nil, nil, yamlType, serveYAML(description), false, ""},
		{"GET", "/asyncapi.yaml", "", nil, nil, yamlType, serveYAML(asyncDescription), false, ""},
		{"GET", "/schemas/{file}", "", nil, nil, schemaType, http.HandlerFunc(a.schema), false, ""},
		{"GET", "/", Read, nil, nil, htmlType, http.HandlerFunc(a.page), false, answers},
	}
}

func serveYAML(document []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		sendTagged(w, r, document)
	})
}

// schema answers GET /schemas/{file}.
func (a *handlers) schema(w http.ResponseWriter, r *http.Request) {
	b, err := schemas.ReadFile("schemas/" + r.PathValue("file"))
	if err != nil {
		problem.Write(w, r, problem.Problem{
			Type: problem.NoSuchPath, Status: http.StatusNotFound, Detail: "There is no such schema; /asyncapi.yaml names them.",
		})
		return
	}
	w.Header().Set("Content-Type", "application/schema+json")
	sendTagged(w, r, b)
}
