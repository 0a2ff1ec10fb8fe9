package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"refrain/internal/problem"
)

// Scope is what a token is good for.
type Scope string

// The scopes. Admin includes the others.
const (
	Read  Scope = "read"
	Write Scope = "write"
	Admin Scope = "admin"
)

// Access decides on a request that needs a scope: nil lets it pass, a problem is the answer.
type Access func(r *http.Request, need Scope) *problem.Problem

// Token is a secret that a client names, and what it is good for.
type Token struct {
	Name, Token string // Name is for the log
	Scopes      []Scope
}

// Tokens wants one of the tokens in every request: as a bearer token (RFC 6750), or as the password of HTTP's basic
// authentication, which is what a browser can ask its user for.
func Tokens(tokens []Token) Access {
	hashes := make([][sha256.Size]byte, len(tokens))
	for i := range tokens {
		hashes[i] = sha256.Sum256([]byte(tokens[i].Token))
	}
	return func(r *http.Request, need Scope) *problem.Problem {
		given, ok := presented(r)
		if !ok {
			return &problem.Problem{Status: http.StatusUnauthorized, Detail: "A token is needed: Authorization: Bearer TOKEN."}
		}
		hash, known := sha256.Sum256([]byte(given)), -1
		for i := range hashes { // all of them, whichever it is: the time taken tells nothing
			if subtle.ConstantTimeCompare(hash[:], hashes[i][:]) == 1 {
				known = i
			}
		}
		if known < 0 {
			return &problem.Problem{Status: http.StatusUnauthorized, Detail: "The token is not known here."}
		}
		if t := tokens[known]; !slices.Contains(t.Scopes, need) && !slices.Contains(t.Scopes, Admin) {
			return &problem.Problem{Status: http.StatusForbidden, Detail: fmt.Sprintf("This needs the scope %s, which the token %s has not.", need, t.Name)}
		}
		return nil
	}
}

// presented is the token of a request.
func presented(r *http.Request) (string, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token), true
	}
	_, password, ok := r.BasicAuth()
	return password, ok
}

// LoopbackOnly lets everybody on this machine do everything. It refuses what is not addressed to this machine: a web
// page elsewhere may have its own name resolve to 127.0.0.1, and so have a browser ask here.
func LoopbackOnly() Access {
	return func(r *http.Request, _ Scope) *problem.Problem {
		if addressedToLoopback(r.Host) {
			return nil
		}
		return &problem.Problem{
			Status: http.StatusForbidden,
			Detail: fmt.Sprintf("Without auth.tokens this server answers as localhost only, not as %q.", r.Host),
		}
	}
}

func addressedToLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// guard lets requests pass to next that may. A route that needs no scope is open to all.
func (a *handlers) guard(need Scope, next http.Handler) http.Handler {
	if need == "" || a.Access == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := a.Access(r, need)
		if p == nil {
			next.ServeHTTP(w, r)
			return
		}
		if p.Status == http.StatusUnauthorized {
			w.Header().Add("WWW-Authenticate", `Bearer realm="refrain"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="refrain", charset="UTF-8"`)
		}
		problem.Write(w, r, *p)
	})
}

// sameOrigin refuses what a web page of another site makes a browser send here.
func sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.Problem{Status: http.StatusForbidden, Detail: "A browser sent this for a page of another site."})
	}))
	return protection.Handler(next)
}
