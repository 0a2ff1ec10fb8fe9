package contracts

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// message is what came one of the ways out.
type message struct {
	Headers map[string]string `json:"headers"` // over HTTP in lower case
	Key     string            `json:"key"`     // of a record
	Body    string            `json:"body"`
}

// header is the headers as JSON.
func (m *message) header(t *testing.T) []byte {
	t.Helper()
	b, err := json.Marshal(m.Headers)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// webhooks are the settings of endpoints that are sent events one by one, in batches that are events, and in arrays.
func webhooks(single, batch, array *receiver) string {
	const settings = `secrets: ["` + secret + `"], allow: [127.0.0.1/32], batch_wait: 50ms`
	return fmt.Sprintf(`
  webhooks:
  - {name: single, url: %q, %[4]s}
  - {name: batch, url: %[2]q, batch: 100, %[4]s}
  - {name: array, url: %[3]q, batch: 100, batch_format: array, %[4]s}`, single.URL, batch.URL, array.URL, settings)
}

// secret is what webhooks are signed with.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver is an endpoint that keeps what it is sent.
type receiver struct {
	*httptest.Server

	mu  sync.Mutex
	all []message
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m := message{Headers: map[string]string{}, Body: string(body)}
	for name, values := range req.Header {
		m.Headers[strings.ToLower(name)] = values[0]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, m)
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) messages() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[:len(r.all):len(r.all)]
}

// count is how often a word is in what came.
func (r *receiver) count(word string) (n int) {
	for _, m := range r.messages() {
		n += strings.Count(m.Body, word)
	}
	return n
}
