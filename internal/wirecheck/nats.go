package wirecheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
)

// maxPayload bounds a message of NATS, as its servers do: they allow no max_payload above it.
const maxPayload = 64 << 20

// NATS wraps a connection to a NATS server. It sees what is said before TLS, and nothing within: the client encrypts
// above this connection. Nor does it follow WebSockets.
func NATS(c net.Conn) net.Conn { return &conn{Conn: c, protocol: "NATS", check: &natsProtocol{}} }

type natsProtocol struct {
	line   line
	skip   int64 // bytes of a payload that are still to come
	end    int   // bytes still to come of the CR LF behind a payload
	opened bool  // we have said something
	hidden atomic.Bool
}

// sent finds out whether we go on in plain text, which begins with CONNECT. TLS begins with a handshake, a WebSocket
// with GET.
func (n *natsProtocol) sent(p []byte) {
	if !n.opened && len(p) > 0 {
		n.opened = true
		n.hidden.Store(p[0] != 'C')
	}
}

func (n *natsProtocol) received(p []byte) (err error) {
	for len(p) > 0 && err == nil && !n.hidden.Load() {
		switch {
		case n.skip > 0:
			passed := min(n.skip, int64(len(p)))
			n.skip -= passed
			p = p[passed:]
		case n.end > 0:
			p, err = n.payloadEnd(p)
		default:
			p, err = n.control(p)
		}
	}
	return err
}

func (n *natsProtocol) payloadEnd(p []byte) (rest []byte, err error) {
	const end = "\r\n"
	if p[0] != end[len(end)-n.end] {
		return nil, fmt.Errorf("a message that is longer than it says: behind it comes %s", Shown(p))
	}
	n.end--
	return p[1:], nil
}

// control reads a line of the protocol.
func (n *natsProtocol) control(p []byte) (rest []byte, err error) {
	if len(n.line.buf) == 0 && bytes.IndexByte([]byte("IMHP+-"), p[0]) < 0 {
		return nil, fmt.Errorf("it says %s", Shown(p))
	}
	rest, whole, err := n.line.add(p)
	if !whole || err != nil {
		return nil, err
	}
	text, err := n.line.text()
	if err != nil {
		return nil, err
	}
	return rest, n.operation(text)
}

func (n *natsProtocol) operation(text []byte) error {
	op, arguments, _ := bytes.Cut(text, []byte(" "))
	switch string(op) {
	case "PING", "PONG", "+OK", "-ERR":
		return nil
	case "INFO":
		if !json.Valid(arguments) {
			return fmt.Errorf("INFO without JSON: %s", Shown(arguments))
		}
		return nil
	case "MSG":
		return n.message(fields(arguments), 1)
	case "HMSG":
		return n.message(fields(arguments), 2)
	}
	return fmt.Errorf("it says %s", Shown(text))
}

// fields are cut where the client cuts them.
func fields(arguments []byte) [][]byte {
	return bytes.FieldsFunc(arguments, func(r rune) bool { return r == ' ' || r == '\t' })
}

// message reads subject, id of the subscription, perhaps where to reply to, and the sizes: of the header, if there is
// one, and of all.
func (n *natsProtocol) message(args [][]byte, sizes int) error {
	if len(args) != 2+sizes && len(args) != 3+sizes {
		return errors.New("a message with another number of fields than its kind has")
	}
	if _, err := length(args[1], 1<<53); err != nil {
		return fmt.Errorf("subscription: %w", err)
	}
	size, err := length(args[len(args)-1], maxPayload)
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	if _, err := length(args[len(args)-sizes], size); err != nil {
		return fmt.Errorf("header of a message: %w", err)
	}
	n.skip, n.end = size, len("\r\n")
	return nil
}
