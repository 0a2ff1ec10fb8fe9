package api

import (
	"net/http"
	"net/url"

	"refrain/internal/problem"
)

// answerPolicy is for answers that are no page: a browser that shows one loads nothing for it, and no page frames it.
const answerPolicy = "default-src 'none'; frame-ancestors 'none'"

// sameOrigin refuses what a web page of another site makes a browser send here: also requests that change nothing, for
// whether an <object> loads tells the page what is known here. A link to here may be followed. Every answer says that
// it is for this site alone.
func (a *handlers) sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", answerPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		if fromOtherSite(r) {
			a.refuse(w, r, "", "browser", problem.Problem{
				Status: http.StatusForbidden, Detail: "A browser sent this for a page of another site.",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fromOtherSite goes by what browsers say of a request (Fetch Metadata), or, before 2023 and without TLS, by its origin.
// What is no browser says neither.
func fromOtherSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		return r.Header.Get("Origin") != "" && !sameHost(r.Header.Get("Origin"), r.Host)
	}
	follows := r.Method == http.MethodGet || r.Method == http.MethodHead
	return !follows || r.Header.Get("Sec-Fetch-Dest") != "document"
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host == host
}
