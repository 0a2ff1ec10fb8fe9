// Package problem writes HTTP errors as RFC 9457 problem documents.
package problem

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ContentType is the media type of a problem document.
const ContentType = "application/problem+json"

// Problem is one error as a client sees it. Type and Status must be set.
type Problem struct {
	Type     Type // its title too
	Status   int
	Detail   string // what happened this time, and what to do about it
	Instance string // "" means the path of the request

	// RetryAfter, when above zero, is also sent as the Retry-After header, in seconds rounded up.
	RetryAfter time.Duration
	// Extra holds the extension members. The five members above win over extra ones of the same name.
	Extra map[string]any
}

// Write answers r with p. It must come before anything else is written to w.
func Write(w http.ResponseWriter, r *http.Request, p Problem) {
	body, err := json.Marshal(p.members(r))
	if err != nil { // an extension member that JSON cannot say: the rest still tells the client something
		p.Extra = nil
		body, _ = json.Marshal(p.members(r))
	}
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n')) // a client that is gone has nobody to be told
	}
}

func (p Problem) members(r *http.Request) map[string]any {
	m := make(map[string]any, len(p.Extra)+5)
	maps.Copy(m, p.Extra)
	m["type"] = p.Type.String()
	m["title"] = or(p.Type.title, http.StatusText(p.Status))
	m["status"] = p.Status
	m["instance"] = or(p.Instance, r.URL.EscapedPath())
	delete(m, "detail")
	if p.Detail != "" {
		m["detail"] = p.Detail
	}
	return m
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// MethodNotAllowed answers 405 with the methods that are allowed, as "GET, HEAD".
func MethodNotAllowed(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	Write(w, r, Problem{
		Type: Method, Status: http.StatusMethodNotAllowed,
		Detail: r.Method + " is not served here; " + allow + " is.",
	})
}

// NotAcceptableOf is the problem that a client takes none of the types that an answer can have.
func NotAcceptableOf(types ...string) Problem {
	return Problem{
		Type: NotAcceptable, Status: http.StatusNotAcceptable,
		Detail: "The answer is " + strings.Join(types, " or ") + ", and the Accept header takes none of these.",
	}
}
