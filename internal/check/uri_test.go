package check_test

import (
	"testing"

	"refrain/internal/check"
)

// TestURIReference has the examples of RFC 3986, section 1.1.2, and what libraries of CloudEvents refuse.
func TestURIReference(t *testing.T) {
	for value, want := range map[string]bool{
		"refrain": true, "/feeds/x": true, "https://example.org/refrain": true, "urn:refrain:eu-1": true, "a%20b": true,
		"ftp://ftp.is.co.za/rfc/rfc1808.txt": true, "ldap://[2001:db8::7]/c=GB?objectClass?one": true,
		"mailto:John.Doe@example.com": true, "tel:+1-816-555-1212": true, "//host/p?q#f": true, "?q": true, "#f": true, "./a:b": true,
		"": false, "refrain prod": false, "a\nb": false, "\u00fcber": false, "a%2": false, "a%zz": false, "a\\b": false,
		"a#b#c": false, "a[b]": false, "?[": false, "1a:b": false, `a"b`: false, "a|b": false, "<a>": false, "a^b": false,
	} {
		if got := check.IsURIReference(value); got != want {
			t.Errorf("%q: got %v", value, got)
		}
	}
}

func TestURL(t *testing.T) {
	for value, want := range map[string]bool{
		"https://example.org/schemas": true, "http://127.0.0.1:8080/schemas/": true,
		"": false, "schemas": false, "/schemas": false, "//host/schemas": false, "urn:x:y": false, "https:///x": false,
		"https://example.org/a b": false,
	} {
		if got := check.IsURL(value); got != want {
			t.Errorf("%q: got %v", value, got)
		}
	}
}
