package api_test

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	h := mustNew(t, config())
	w := serve(h, "GET", "/v1/explain?a=x+y&b=%E6%96%87", "")
	if got, want := w.Body.String(), `{"measure":"","threshold":"x y","model":"文","a":null,"b":null,"pairs":null}`+"\n"; got != want {
		t.Errorf("answer %q, want %q", got, want)
	}
	if got := detail(t, serve(h, "GET", "/v1/explain?a=x", ""), 400); !strings.Contains(got, "parameter b") {
		t.Errorf("detail %q", got)
	}
}
