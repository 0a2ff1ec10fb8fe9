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

// Access decides on a request that needs a scope: nil lets it pass, a refusal is the answer. who is the name of the token
// that the request bears, "" without one that is known.
type Access func(r *http.Request, need Scope) (who string, refused *Refusal)

// Refusal is why a request may not pass.
type Refusal struct {
	Reason string // a word for the metric and the log
	problem.Problem
}

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
	return func(r *http.Request, need Scope) (string, *Refusal) {
		given, ok := presented(r)
		if !ok {
			return "", refusal("token", problem.NeedsToken, http.StatusUnauthorized,
				"A token is needed, in one header: Authorization: Bearer TOKEN.")
		}
		hash, known := sha256.Sum256([]byte(given)), -1
		for i := range hashes { // all of them, whichever it is: the time taken tells nothing
			if subtle.ConstantTimeCompare(hash[:], hashes[i][:]) == 1 {
				known = i
			}
		}
		if known < 0 {
			return "", refusal("token", problem.NeedsToken, http.StatusUnauthorized,
				"The token is not known here.")
		}
		t := &tokens[known]
		if !slices.Contains(t.Scopes, need) && !slices.Contains(t.Scopes, Admin) {
			return t.Name, refusal("scope", problem.NeedsScope, http.StatusForbidden,
				fmt.Sprintf("This needs the scope %s, which the token %s has not.", need, t.Name))
		}
		return t.Name, nil
	}
}

func refusal(reason string, kind problem.Type, status int, detail string) *Refusal {
	return &Refusal{reason, problem.Problem{Type: kind, Status: status, Detail: detail}}
}

// presented is the token of a request. Of two headers a proxy in front may have looked at the other.
func presented(r *http.Request) (string, bool) {
	if len(r.Header.Values("Authorization")) > 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token), true
	}
	_, password, ok := r.BasicAuth()
	return password, ok
}

// LoopbackOnly lets everybody on this machine do everything. It refuses what is not addressed to this machine, by a
// loopback address or one of the names: a web page elsewhere may have its own name resolve to 127.0.0.1, and so have a
// browser ask here. And it refuses what a proxy passes on, for others than this machine may stand behind that.
func LoopbackOnly(names ...string) Access {
	return func(r *http.Request, _ Scope) (string, *Refusal) {
		host := hostOf(r.Host)
		if !isLoopback(host) && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) }) {
			return "", refusal("host", problem.OtherHost, http.StatusForbidden,
				fmt.Sprintf("Without auth.tokens this server answers as localhost or one of auth.hosts only, not as %q.",
					truncate(r.Host)))
		}
		if header := forwardedBy(r); header != "" {
			return "", refusal("forwarded", problem.Forwarded, http.StatusForbidden,
				fmt.Sprintf("A proxy passed this on (%s), and without auth.tokens this server "+
					"answers nobody but this machine: name auth.tokens in the configuration, or have the proxy ask for a password "+
					"and take the header out.", header))
		}
		return "", nil
	}
}

// maxQuoted bounds what an answer repeats of a client's own words.
const maxQuoted = 100

func truncate(s string) string { return s[:min(len(s), maxQuoted)] }

// forwardedBy is the header by which a proxy says that the request is another's, "" without one.
func forwardedBy(r *http.Request) string {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return name
		}
	}
	return ""
}

// hostOf is the name or address of a Host header, without a port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// guard lets requests pass to next that may. A route that needs no scope is open to all.
func (a *handlers) guard(need Scope, next http.Handler) http.Handler {
	if need == "" || a.Access == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, refused := a.Access(r, need)
		if o := observedOf(r); o != nil {
			o.who = who
		}
		if refused == nil {
			next.ServeHTTP(w, r)
			return
		}
		if refused.Status == http.StatusUnauthorized {
			w.Header().Add("WWW-Authenticate", `Bearer realm="refrain"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="refrain", charset="UTF-8"`)
		}
		a.refuse(w, r, who, refused.Reason, refused.Problem)
	})
}
