// Package paths finds the handler of a request by its path, as it was sent.
//
// It takes the place of net/http's ServeMux, which cleans paths first: it sends whoever asks for a post named ".." to
// somewhere else, takes an id of "/" for the end of a path, and knows no way to say either. Here a path is cut at its
// slashes, and each part is one name, percent-encoded where it must be: %2F is a slash in a name, %2E%2E a name of two
// dots. Nothing is redirected.
package paths

import (
	"net/http"
	"net/url"
	"strings"
)

// Mux is a list of patterns and their handlers: "GET /v1/posts/{id}/reuse" for one method (GET is for HEAD too), the same
// without a method for all others, "/{$}" for the path "/", and "/" for whatever matches no other. Names are not
// empty. Handle is called before the first request.
type Mux struct{ rows []row }

type row struct {
	pattern, method string
	parts           []string // "{name}" takes any
	names           int      // parts that do
	handler         http.Handler
}

// Handle adds a pattern. Of those that fit a path, the one with the fewest names counts, of these the one with a method.
func (m *Mux) Handle(pattern string, h http.Handler) {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = "", pattern
	}
	r := row{pattern: pattern, method: method, handler: h}
	switch path {
	case "/": // no parts: whatever is left
	case "/{$}":
		r.parts = []string{""}
	default:
		r.parts = strings.Split(path[1:], "/")
	}
	for _, part := range r.parts {
		if isName(part) {
			r.names++
		}
	}
	m.rows = append(m.rows, r)
}

// HandleFunc is Handle for a function.
func (m *Mux) HandleFunc(pattern string, h http.HandlerFunc) { m.Handle(pattern, h) }

func isName(part string) bool { return strings.HasPrefix(part, "{") }

// ServeHTTP implements http.Handler. The names are the request's path values, and the pattern its Pattern.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := split(r.URL)
	best := m.find(r.Method, parts)
	if best == nil {
		http.NotFound(w, r)
		return
	}
	r.Pattern = best.pattern
	for i, part := range best.parts {
		if isName(part) {
			r.SetPathValue(strings.Trim(part, "{}"), parts[i])
		}
	}
	best.handler.ServeHTTP(w, r)
}

// split cuts a path into names. What is no path, such as the "*" of OPTIONS, has none.
func split(u *url.URL) []string {
	path, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return nil
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		name, err := url.PathUnescape(part)
		if err != nil {
			return nil
		}
		parts[i] = name
	}
	return parts
}

func (m *Mux) find(method string, parts []string) (best *row) {
	for i := range m.rows {
		if r := &m.rows[i]; r.matches(method, parts) && (best == nil || r.isBefore(best)) {
			best = r
		}
	}
	return best
}

func (r *row) matches(method string, parts []string) bool {
	if r.method != "" && r.method != method && !(r.method == http.MethodGet && method == http.MethodHead) {
		return false
	}
	if r.parts == nil {
		return true
	}
	if len(r.parts) != len(parts) {
		return false
	}
	for i, part := range r.parts {
		if isName(part) && parts[i] == "" || !isName(part) && part != parts[i] {
			return false
		}
	}
	return true
}

// isBefore reports whether r counts where both fit.
func (r *row) isBefore(o *row) bool {
	if (r.parts == nil) != (o.parts == nil) {
		return o.parts == nil
	}
	if r.names != o.names {
		return r.names < o.names
	}
	return r.method != "" && o.method == ""
}

// Hint says what may be wrong with a path that matches nothing: a slash that was meant to be part of a name; "" where
// it has no empty name.
func Hint(u *url.URL) string {
	if path := u.EscapedPath(); path != "/" && (strings.HasSuffix(path, "/") || strings.Contains(path, "//")) {
		return "A name in the path is empty. A slash that is part of a name is written %2F: a post / is /v1/posts/%2F, " +
			"and a//b is /v1/posts/a%2F%2Fb."
	}
	return ""
}
