package apart

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// matches is what /v1/match finds.
func matches(tb testing.TB, server string) string {
	tb.Helper()
	resp, err := http.Post(server+"/v1/match", "application/json", strings.NewReader(`{"text":"`+long+`"}`))
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return string(answer)
}
