package bluesky

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/coder/websocket"

	"refrain/ingest"
)

// connection is the one part of a source's status.
const connection = "connection"

// run keeps a connection until Close.
func (b *Source) run() {
	defer close(b.ended)
	ctx, cancel := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-b.quit:
			cancel()
		case <-ctx.Done():
		}
	})
	pause := &backoff.ExponentialBackOff{
		InitialInterval: b.cfg.MinBackoff, MaxInterval: b.cfg.MaxPause, Multiplier: 2, RandomizationFactor: 0.5,
	}
	pause.Reset()
	for ctx.Err() == nil {
		err := b.cursor.load(ctx)
		if err == nil {
			err = b.connect(ctx, pause)
		}
		if ctx.Err() == nil {
			b.pause(ctx, pause.NextBackOff(), err)
		}
	}
}

func (b *Source) pause(ctx context.Context, wait time.Duration, cause error) {
	b.cfg.Status.Failed(connection, cause)
	b.cfg.Logger.Warn("bluesky: connection lost", "url", redacted(b.cfg.URL), "again", wait, "error", cause)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errAgain = errors.New("a batch was not made durable")

// connect reads one connection to its end. It resets the pause once there is something to read.
func (b *Source) connect(ctx context.Context, pause *backoff.ExponentialBackOff) error {
	ctx, cancel := context.WithCancelCause(ctx)
	at, era := b.cursor.resume()
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		select {
		case <-b.cursor.broken:
			cancel(errAgain)
		case <-ctx.Done():
		}
	})
	address, err := subscription(b.cfg.URL, at)
	if err != nil {
		return err
	}
	conn, err := b.dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1) // read keeps the limit: an overlong message is rejected, not the connection
	b.cfg.Logger.Info("bluesky: connected", "url", redacted(address))
	for first := true; ; first = false {
		m, err := b.read(ctx, conn)
		if err != nil {
			return causeOf(ctx, err)
		}
		b.cfg.Status.Fetched(connection)
		if first {
			pause.Reset()
		}
		m.era, m.size = era, min(m.size+messageOverhead, maxUnacked)
		b.cursor.start(m.time)
		if err := b.push(ctx, m); err != nil {
			return err
		}
	}
}

// causeOf prefers why ctx was cancelled to the error that came of it.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (b *Source) dial(ctx context.Context, address string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Silence)
	defer cancel()
	client := *b.cfg.Client
	client.CheckRedirect = refuseRedirect
	conn, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient: &client, CompressionMode: websocket.CompressionDisabled,
		HTTPHeader: http.Header{"User-Agent": {cmp.Or(b.cfg.UserAgent, "Refrain")}},
	})
	if err != nil {
		return nil, withReason(err, resp, address)
	}
	return conn, nil
}

// withReason adds what the server says of why it refuses, of which the library keeps the first KiB, on one line. One that
// was sent a password may repeat it, in any form, and is not quoted.
func withReason(err error, resp *http.Response, address string) error {
	if u, _ := url.Parse(address); resp == nil || resp.Body == nil || u == nil || u.User != nil {
		return err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason)) // as much of it as there is
	if reason := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "\ufffd")), " "); reason != "" {
		return fmt.Errorf("%w; the server says: %q", err, reason)
	}
	return err
}

const maxReason = 1 << 10

// refuseRedirect keeps to the server that was named: who answers in its place could send us into a private network.
func refuseRedirect(next *http.Request, _ []*http.Request) error {
	return fmt.Errorf("the server sends us on to %.200q, which is not followed: if that is right, name it as the url",
		next.URL.Redacted())
}

// subscription asks for posts alone; account and identity messages come all the same.
func subscription(server string, cursor int64) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("bluesky: url: %w", err)
	}
	q := u.Query()
	q.Set("wantedCollections", postCollection)
	if cursor > 0 {
		q.Set("cursor", strconv.FormatInt(cursor, 10))
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// read reads one message. Of one that is too long the rest is dropped unseen.
func (b *Source) read(ctx context.Context, conn *websocket.Conn) (message, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.cfg.Silence, fmt.Errorf("nothing came for %s", b.cfg.Silence))
	defer cancel()
	kind, r, err := conn.Reader(ctx)
	if err != nil {
		return message{}, causeOf(ctx, err)
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(b.cfg.MaxMessage)+1))
	if err == nil {
		err = b.discard(r)
	}
	if err != nil {
		return message{}, causeOf(ctx, err)
	}
	switch {
	case len(data) > b.cfg.MaxMessage:
		return b.reject(0, data[:b.cfg.MaxMessage], ingest.TooLong(b.cfg.MaxMessage)), nil
	case kind != websocket.MessageText:
		return b.reject(0, data, errors.New("a binary message, want JSON")), nil
	}
	m := b.decode(data)
	m.size = int64(len(data))
	return m, nil
}

// maxDiscard is how many times MaxMessage of one message is read to get at the next: of one that never ends there is none.
const maxDiscard = 16

func (b *Source) discard(r io.Reader) error {
	limit := maxDiscard * int64(b.cfg.MaxMessage)
	n, err := io.Copy(io.Discard, io.LimitReader(r, limit))
	if err == nil && n == limit {
		err = fmt.Errorf("a message of more than %d bytes", limit)
	}
	return err
}

// messageOverhead is what a message takes besides what was sent.
const messageOverhead = 512

// push queues a message for Next, as soon as there is room for it.
func (b *Source) push(ctx context.Context, m message) error {
	if err := b.unacked.Acquire(ctx, m.size); err != nil {
		return context.Cause(ctx)
	}
	select {
	case b.messages <- m:
		return nil
	case <-ctx.Done():
		b.unacked.Release(m.size)
		return context.Cause(ctx)
	}
}
