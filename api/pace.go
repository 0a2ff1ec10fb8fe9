package api

import (
	"io"
	"net/http"
	"time"
)

// pieceBytes is what a client has Limits.WriteTimeout for. A whole answer has no deadline: how long it may take depends
// on how long it is.
const pieceBytes = 64 << 10

// paced gives up on a client that does not read its answer.
type paced struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// pace sets the deadlines of a request: for its body, and for each piece of its answer.
func (a *handlers) pace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &paced{w, http.NewResponseController(w), a.Limits.WriteTimeout}
		if r.Body != nil && r.Body != http.NoBody {
			_ = p.control.SetReadDeadline(time.Now().Add(a.Limits.ReadTimeout)) // none in a test without a connection
			r.Body = &timedBody{r.Body, p.control}
		}
		p.extend()       // for what net/http answers by itself
		defer p.extend() // for what is sent when the handler has returned
		next.ServeHTTP(p, r)
	})
}

func (p *paced) extend() { _ = p.control.SetWriteDeadline(time.Now().Add(p.timeout)) }

// Write implements io.Writer, a piece at a time.
func (p *paced) Write(b []byte) (n int, err error) {
	for {
		p.extend()
		m, err := p.ResponseWriter.Write(b[:min(len(b), pieceBytes)])
		n, b = n+m, b[m:]
		if err != nil || len(b) == 0 {
			return n, err
		}
	}
}

// FlushError is what http.ResponseController calls.
func (p *paced) FlushError() error {
	p.extend()
	return p.control.Flush()
}

// Unwrap lets http.ResponseController reach deadlines.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// timedBody lifts the deadline when the body has been read: what is read from then on only tells that the client is gone.
// One that was not read to its end keeps it: net/http reads on before it answers.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (t *timedBody) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if err == io.EOF {
		_ = t.control.SetReadDeadline(time.Time{}) // the end says more
	}
	return n, err
}
