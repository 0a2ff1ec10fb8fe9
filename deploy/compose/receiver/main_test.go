package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"refrain/feed"
)

func TestOnlySignedEventsArePrinted(t *testing.T) {
	hook, err := webhooks.NewWebhookRaw([]byte("a secret of some length"))
	if err != nil {
		t.Fatal(err)
	}
	m := feed.Match{Scheme: "near", Jaccard: 0.875, Occurrences: 2,
		Later:   feed.Occurrence{Post: "2", Author: "bob", Text: "steering \x1b[2J a terminal"},
		Earlier: feed.Occurrence{Post: "1", Author: "ann"}}
	event := m.AppendEvent(nil, "test")
	now := time.Now()
	signature, err := hook.Sign("id", now, event)
	if err != nil {
		t.Fatal(err)
	}
	send := func(signature string) (int, string) {
		var out bytes.Buffer
		r := httptest.NewRequest("POST", "/", bytes.NewReader(event))
		r.Header.Set("webhook-id", "id")
		r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		r.Header.Set("webhook-signature", signature)
		w := httptest.NewRecorder()
		handler(hook, &out).ServeHTTP(w, r)
		return w.Code, out.String()
	}
	code, out := send(signature)
	if code != http.StatusNoContent || !strings.Contains(out, "0.88  bob repeats ann (seen 2 times") ||
		strings.Contains(out, "\x1b") {
		t.Errorf("%d, %q", code, out)
	}
	m.Measure, m.Similarity = "cosine", 0.94
	if got := line(&m); !strings.Contains(got, "cosine 0.94  bob repeats ann") {
		t.Errorf("got %q", got)
	}
	if code, out := send("v1,AAAA"); code != http.StatusUnauthorized || out != "" {
		t.Errorf("a wrong signature: %d, %q", code, out)
	}
}

func TestDeletions(t *testing.T) {
	for data, want := range map[string]string{
		`{"source":"","post":"7\u001b"}`: "T  deleted: post 7",
		`{"source":"","author":"ann"}`:   "T  deleted: all that ann had posted",
	} {
		got := deletion([]byte(`{"type":"dev.refrain.retracted.v1","time":"T","data":` + data + `}`))
		if !strings.HasPrefix(got, want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
	if got := deletion([]byte(`{"type":"another","data":{}}`)); got != "" {
		t.Errorf("got %q of another type", got)
	}
}
