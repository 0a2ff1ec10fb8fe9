package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// mustMatch runs match against a server that answers so, and returns what was asked and printed.
func mustMatch(t *testing.T, in string, status int, answer string) (asked, out, errs string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked = q.Text
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer s.Close()
	var stdout, stderr bytes.Buffer
	m := Main{Stdin: strings.NewReader(in), Stdout: &stdout, Stderr: &stderr}
	m.Run(t.Context(), []string{"match", "--server", s.URL, "-"})
	return asked, stdout.String(), stderr.String()
}

// TestMatchSaysWhatIsLeftOut: a sentence that the answer had no room for is not one that repeats nothing.
func TestMatchSaysWhatIsLeftOut(t *testing.T) {
	_, out, _ := mustMatch(t, "a", http.StatusOK,
		`{"sentences":[{"text":"a","compared":true,"matches":[],"truncated":true},{"text":"b","compared":true,"matches":[]}]}`)
	if strings.Count(out, "nothing like it") != 1 || !strings.Contains(out, "a\n  repeats more texts than one answer holds") {
		t.Errorf("printed:\n%s", out)
	}
}

// TestMatchCutsNothing: a text beyond the limit is refused by the server, not cut by the client.
func TestMatchCutsNothing(t *testing.T) {
	asked, _, _ := mustMatch(t, strings.Repeat("a", maxMatchText+5), http.StatusOK, `{}`)
	if len(asked) <= maxMatchText {
		t.Errorf("%d bytes sent: as if it were all", len(asked))
	}
}

func TestMatchWithoutToken(t *testing.T) {
	if _, _, errs := mustMatch(t, "a", http.StatusUnauthorized, `{}`); !strings.Contains(errs, "REFRAIN_TOKEN") {
		t.Errorf("error: %s", errs)
	}
}

// TestMatchTellsProblems: what a server refuses is told in words, not as JSON; what is no problem document as it is.
func TestMatchTellsProblems(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"urn:x","title":"The window is held","status":503,"detail":"Ask again."}`: "503 Service Unavailable: " +
			"The window is held: Ask again.\n",
		`{"title":"Service Unavailable","detail":"Ask \u001b[31mlater."}`: "503 Service Unavailable: Ask ",
		"upstream away\n": "503 Service Unavailable: upstream away\n",
	} {
		_, _, errs := mustMatch(t, "a", http.StatusServiceUnavailable, body)
		if !strings.Contains(errs, want) || strings.ContainsAny(errs, "{\x1b") {
			t.Errorf("got %q, want %q in it", errs, want)
		}
	}
}
