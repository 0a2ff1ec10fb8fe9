package contracts

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// message is what came one of the ways out.
type message struct {
	headers map[string]string // in lower case
	body    string
}

// header is the headers as JSON.
func (m *message) header(t *testing.T) []byte {
	t.Helper()
	b, err := json.Marshal(m.headers)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

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
	m := message{map[string]string{}, string(body)}
	for name, values := range req.Header {
		m.headers[strings.ToLower(name)] = values[0]
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
		n += strings.Count(m.body, word)
	}
	return n
}
