package api

import (
	"net/http"
	"net/url"
	"slices"

	"refrain/internal/problem"
)

// answerPolicy is for answers that are no page: a browser that shows one loads nothing for it, and no page frames it.
const answerPolicy = "default-src 'none'; frame-ancestors 'none'"

// sameOrigin refuses what a web page of another site makes a browser send here, unless it is one of Origins: also requests
// that change nothing, for whether an <object> loads tells the page what is known here. A link to here may be followed.
// Every answer says that it is for this site alone.
func (a *handlers) sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", answerPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		if a.shared(w, r) {
			next.ServeHTTP(w, r)
			return
		}
		if fromOtherSite(r) {
			a.refuse(w, r, "", "browser", problem.Problem{
				Type: problem.OtherSite, Status: http.StatusForbidden, Detail: "A browser sent this for a page of another site.",
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

// Headers of the CORS protocol (Fetch Standard, section 3.2) for pages of Origins. Browsers send no credentials of theirs:
// a page names its token.
const (
	corsMethods = "GET, HEAD, POST, DELETE"
	corsHeaders = "Authorization, Content-Type, Content-Encoding, If-None-Match, Last-Event-ID, traceparent"
	corsExposed = "ETag, Retry-After, Allow"
	corsMaxAge  = "600"
)

// shared reports whether a request is of a page of another site that may ask, and lets the browser show it the answer.
func (a *handlers) shared(w http.ResponseWriter, r *http.Request) bool {
	if len(a.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(a.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return true
}

// preflight answers what a browser asks before a request of a page of another site.
func (a *handlers) preflight(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" ||
			h.Get("Access-Control-Allow-Origin") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", corsMethods)
		h.Set("Access-Control-Allow-Headers", corsHeaders)
		h.Set("Access-Control-Max-Age", corsMaxAge)
		w.WriteHeader(http.StatusNoContent)
	})
}
