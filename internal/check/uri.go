package check

import (
	"net/url"
	"regexp"
	"strings"
)

// uriChars are what RFC 3986 has in a URI, percent-encoded bytes among them.
var uriChars = regexp.MustCompile(`^(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)

// IsURIReference reports whether a string is a URI-reference (RFC 3986, section 4.1), and not an empty one. net/url alone
// takes spaces, and letters of any alphabet.
func IsURIReference(s string) bool {
	u, err := url.Parse(s)
	return s != "" && err == nil && uriChars.MatchString(s) && strings.Count(s, "#") <= 1 &&
		!strings.ContainsAny(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "[]")
}

// IsURL reports whether a string is an absolute URL of HTTP.
func IsURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && IsURIReference(s) && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
