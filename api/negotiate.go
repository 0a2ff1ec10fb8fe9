package api

import (
	"fmt"
	"net/http"
	"strings"

	"refrain/internal/accept"
	"refrain/internal/problem"
)

// negotiate refuses a body of a type that a route does not take, and a client that takes no type that it gives. None of
// either: nobody is asked.
func (a *handlers) negotiate(takes, gives []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind := r.Header.Get("Content-Type"); len(takes) > 0 && !accept.Body(kind, takes...) {
			w.Header().Set("Accept", strings.Join(takes, ", "))
			problem.Write(w, r, problem.Problem{
				Type: problem.MediaType, Status: http.StatusUnsupportedMediaType,
				Detail: fmt.Sprintf("The body is %q. Want %s, in UTF-8.", truncate(kind), strings.Join(takes, " or ")),
			})
			return
		}
		if len(gives) > 0 {
			if _, ok := accept.Best(r.Header, gives...); !ok {
				problem.Write(w, r, problem.NotAcceptableOf(gives...))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
