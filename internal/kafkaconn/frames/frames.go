// Package frames checks what a Kafka broker answers, before the client library decodes it.
//
// An answer is read whole and walked through by the description that the library itself decodes by: every length and
// every count must fit into what is there. Batches of records are unpacked for that, within a limit, and walked through
// too: how many records a batch claims to have, and how many headers a record, is where the library allocates.
package frames

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/segmentio/kafka-go/protocol"

	"refrain/internal/wirecheck"
)

const (
	// maxAnswer bounds an answer that is not one to a fetch. The longest is about all topics of a cluster.
	maxAnswer = 16 << 20
	// maxFetch bounds one with records: a batch comes whole, however large the broker lets producers make it.
	maxFetch = 64 << 20
	// maxRetainedBuffer is how much room for answers a connection retains.
	maxRetainedBuffer = 4 << 20
	// maxOutstanding bounds the requests that wait for an answer.
	maxOutstanding = 1000
)

// Conn is a connection to a broker, within TLS if there is any.
type Conn struct {
	net.Conn
	report   func(error)
	requests requests

	frame  []byte // the answer that is being read or handed on, its size included
	filled int    // bytes of it that are here
	out    int    // bytes of it that have been handed on; 0 while it is not checked
	ready  bool
	fault  error
}

// Wrap checks what is received over c. A fault ends reading and is reported: the library tries again in silence. Of every
// request asked is told the name.
func Wrap(c net.Conn, asked func(request string), report func(error)) *Conn {
	return &Conn{Conn: c, report: report, requests: requests{asked: asked}}
}

// Read hands on answers that have been checked. One that is cut short by a deadline is read on by the next Read.
func (c *Conn) Read(p []byte) (int, error) {
	if c.fault != nil {
		return 0, c.fault
	}
	if !c.ready {
		if err := c.fill(); err != nil {
			return 0, err
		}
		if err := c.check(); err != nil {
			return 0, c.refuse(err)
		}
	}
	n := copy(p, c.frame[c.out:])
	if c.out += n; c.out == len(c.frame) {
		c.reset()
	}
	return n, nil
}

func (c *Conn) reset() {
	if cap(c.frame) > maxRetainedBuffer {
		c.frame = nil
	}
	c.frame, c.filled, c.out, c.ready = c.frame[:0], 0, 0, false
}

func (c *Conn) refuse(reason error) error {
	c.fault, c.frame = wirecheck.NewError("Kafka", c.RemoteAddr(), reason), nil
	c.report(c.fault)
	return c.fault
}

const (
	sizeBytes = 4
	// headBytes are the size and the number of the request that is answered.
	headBytes = sizeBytes + 4
	// pieceBytes is for how much there is made room at once: a size is only a claim.
	pieceBytes = 1 << 20
)

// fill reads until the answer is whole.
func (c *Conn) fill() error {
	if err := c.read(headBytes); err != nil {
		return err
	}
	size, err := c.size()
	if err != nil {
		return c.refuse(err)
	}
	for c.filled < size {
		if err := c.read(min(size, c.filled+pieceBytes)); err != nil {
			return err
		}
	}
	return nil
}

// read reads until n bytes of the answer are here.
func (c *Conn) read(n int) error {
	for c.filled < n {
		if len(c.frame) < n {
			c.frame = append(c.frame, make([]byte, n-len(c.frame))...)
		}
		got, err := c.Conn.Read(c.frame[c.filled:n])
		c.filled += got
		if err != nil && c.filled < n {
			return c.broken(err)
		}
	}
	return nil
}

// broken tells the end of an answer in its middle from that of the connection.
func (c *Conn) broken(err error) error {
	if errors.Is(err, io.EOF) && c.filled > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// size is how long the answer is with its size.
func (c *Conn) size() (int, error) {
	size := int32(binary.BigEndian.Uint32(c.frame))
	r, ok := c.requests.find(int32(binary.BigEndian.Uint32(c.frame[sizeBytes:])))
	switch {
	case size < headBytes-sizeBytes:
		return 0, fmt.Errorf("an answer of %d bytes: it begins with %s", size, wirecheck.Shown(c.frame[:headBytes]))
	case !ok:
		return 0, fmt.Errorf("an answer to a request that was not made: it begins with %s", wirecheck.Shown(c.frame[:headBytes]))
	case int(size) > r.max():
		return 0, fmt.Errorf("an answer of %d bytes, and the limit is %d", size, r.max())
	}
	return sizeBytes + int(size), nil
}

func (c *Conn) check() error {
	number := int32(binary.BigEndian.Uint32(c.frame[sizeBytes:]))
	r, _ := c.requests.find(number)
	c.requests.remove(number)
	if err := r.check(c.frame[headBytes:]); err != nil {
		return fmt.Errorf("answer to %s: %w", r.api, err)
	}
	c.ready = true
	return nil
}

// Write notes what is asked, for that is what says how an answer is laid out.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.requests.add(p); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// request is one that waits for its answer.
type request struct {
	api     protocol.ApiKey
	version int16
}

func (r request) max() int {
	if r.api == protocol.Fetch {
		return maxFetch
	}
	return maxAnswer
}

// requests are what is asked and not answered. They are added by who writes, and removed by who reads.
type requests struct {
	asked   func(request string)
	mu      sync.Mutex
	waiting map[int32]request

	head []byte // of the request that is being written
	skip int    // bytes of it that follow
}

func (r *requests) find(number int32) (request, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, ok := r.waiting[number]
	return q, ok
}

func (r *requests) remove(number int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, number)
}

// requestHead is the size of a request, what it asks, in which version, and its number.
const requestHead = 4 + 2 + 2 + 4

// add follows the requests that are written.
func (r *requests) add(p []byte) error {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(p))
			r.skip -= n
			p = p[n:]
			continue
		}
		n := min(requestHead-len(r.head), len(p))
		r.head, p = append(r.head, p[:n]...), p[n:]
		if len(r.head) < requestHead {
			return nil
		}
		if err := r.note(); err != nil {
			return err
		}
	}
	return nil
}

func (r *requests) note() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[int32]request{}
	}
	if len(r.waiting) >= maxOutstanding {
		return fmt.Errorf("kafka: %d requests without an answer", len(r.waiting))
	}
	b := binary.BigEndian
	made := request{protocol.ApiKey(b.Uint16(r.head[4:])), int16(b.Uint16(r.head[6:]))}
	r.waiting[int32(b.Uint32(r.head[8:]))] = made
	r.asked(made.api.String())
	r.skip, r.head = int(int32(b.Uint32(r.head)))-(requestHead-sizeBytes), r.head[:0]
	return nil
}
