package api

import (
	"fmt"
	"net/http"

	"refrain/internal/explain"
)

// explain answers GET /v1/explain?a=&b=.
func (a *handlers) explain(r *http.Request) (explain.Explanation, error) {
	q := r.URL.Query()
	for _, name := range []string{"a", "b"} {
		if q.Get(name) == "" {
			return explain.Explanation{}, fmt.Errorf("%w: query parameter %s is missing", ErrInput, name)
		}
	}
	end, err := a.turns.begin(r)
	if err != nil {
		return explain.Explanation{}, err
	}
	defer end()
	return a.Explain(r.Context(), q.Get("a"), q.Get("b"))
}
