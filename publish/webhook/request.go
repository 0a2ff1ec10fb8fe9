package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.opentelemetry.io/otel/propagation"
)

// result is what came of one attempt.
type result struct {
	*delivery
	id         string
	began      time.Time
	elapsed    time.Duration
	status     int           // 0: there was no answer
	err        error         // nil: delivered
	retryAfter time.Duration // asked for by the endpoint
	said       []byte        // the beginning of its answer
}

// send makes one attempt. It never waits for longer than the timeout of a request.
func (e *Endpoint) send(ctx context.Context, d *delivery) (r result) {
	r = result{delivery: d, id: d.id(), began: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	ctx, span := e.startSpan(ctx, d)
	defer func() { r.endSpan(span) }()
	r.err = e.post(ctx, &r)
	r.elapsed = time.Since(r.began)
	return r
}

const (
	maxSaid  = 1 << 10  // bytes of an answer that are shown, of a test
	maxDrain = 64 << 10 // and that are read: a connection whose answer has been read is used again
)

// post makes a request, and notes the answer.
func (e *Endpoint) post(ctx context.Context, r *result) error {
	body := e.body(r.delivery)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target.URL.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("not a URL") // err would show it
	}
	if err := e.setHeaders(req, r.id, body, r.began); err != nil {
		return err
	}
	resp, err := e.client.RoundTrip(req)
	if err != nil {
		return explain(err, e.Timeout)
	}
	defer resp.Body.Close()
	r.said, _ = io.ReadAll(io.LimitReader(resp.Body, maxSaid)) // the status has said it already
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxDrain-maxSaid))
	r.status, r.retryAfter = resp.StatusCode, parseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	return checkStatus(resp.StatusCode)
}

func (e *Endpoint) setHeaders(req *http.Request, id string, body []byte, now time.Time) error {
	if u := e.target.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	req.Header.Set("User-Agent", strings.TrimSuffix("Refrain/"+e.deps.Version, "/"))
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", e.contentType())
	propagation.TraceContext{}.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	var signatures []string
	for _, s := range e.signers {
		signature, err := s.Sign(id, now, body)
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		signatures = append(signatures, signature)
	}
	req.Header.Set(webhooks.HeaderWebhookID, id)
	req.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(webhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}

// The formats of CloudEvents' HTTP binding: one event, and a batch of them (section 3.3).
func (c *Config) contentType() string {
	if c.Array {
		return "application/cloudevents-batch+json"
	}
	return "application/cloudevents+json"
}

func (c *Config) body(d *delivery) []byte {
	if c.Array {
		return d.array()
	}
	return d.body()
}

// checkStatus tells what is a success: any 2xx and nothing else.
func checkStatus(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return fmt.Errorf("%d %s: redirects are not followed", status, http.StatusText(status))
	}
	return errors.New(strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status))))
}

// parseRetryAfter reads seconds or a date, and is 0 for anything else.
func parseRetryAfter(s string, now time.Time) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(s); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}
