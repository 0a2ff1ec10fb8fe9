package wirecheck

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
)

// source is a connection whose other end says something, in pieces of a size.
type source struct {
	net.Conn
	left  string
	piece int
}

func (s *source) Read(p []byte) (int, error) {
	n := copy(p, s.left[:min(s.piece, len(s.left))])
	s.left = s.left[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (s *source) Write(p []byte) (int, error) { return len(p), nil }
func (s *source) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6379} }

var wraps = map[string]func(net.Conn) net.Conn{"Redis": Redis, "NATS": NATS}

// read reads all that passes.
func read(protocol, sent string, piece int) (string, error) {
	got, err := io.ReadAll(wraps[protocol](&source{left: sent, piece: piece}))
	return string(got), err
}

// proper is what peers say, and must pass as it is.
var proper = map[string][]string{
	"Redis": {
		"+OK\r\n-ERR no\r\n:7\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n",
		"*2\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n+x\r\n:2\r\n",
		"%2\r\n+server\r\n$5\r\nredis\r\n+modules\r\n*0\r\n_\r\n#t\r\n,3.14\r\n(123456789012345678901234567890\r\n",
		">3\r\n+invalidate\r\n_\r\n~1\r\n=7\r\ntxt:abc\r\n!5\r\nERR x\r\n",
		"$" + "70000\r\n" + strings.Repeat("\r\n$9", 17500) + "\r\n+OK\r\n",
	},
	"NATS": {
		"INFO {\"server_id\":\"A\"}\r\nPING\r\nPONG\r\n+OK\r\n-ERR 'no'\r\n",
		"MSG foo.bar 9 11\r\nhello\r\nPING\r\nMSG foo 9 reply 0\r\n\r\n",
		"HMSG foo 9 12 17\r\nNATS/1.0\r\n\r\nhello\r\nHMSG foo 9 reply 12 12\r\nNATS/1.0\r\n\r\n\r\n",
	},
}

func TestProperPeersPass(t *testing.T) {
	for protocol, all := range proper {
		for _, sent := range all {
			for _, piece := range []int{1, 2, 3, 7, 4096} {
				if got, err := read(protocol, sent, piece); got != sent || err != nil {
					t.Errorf("%s, %d bytes at a time: %.60q passes as %.60q, %v", protocol, piece, sent, got, err)
				}
			}
		}
	}
}

// improper is what must not be read to its end, with a word of the reason.
var improper = map[string]map[string]string{
	"Redis": {
		"$9223372036854775000\r\n": "limit", "$67108865\r\n": "limit", "$-5\r\n": "no number", "$-0\r\n": "no number",
		"$\r\n":        "no number",
		"*1048577\r\n": "limit", "%600000\r\n": "elements", "*1000000\r\n*1000000\r\n": "elements",
		strings.Repeat("*1\r\n", 17): "nested",
		"|1\r\n+a\r\n+b\r\n+c\r\n":   "it says", "+OK\n": "CR LF", "+a\rb\r\n": "CR LF", "HTTP/1.1 400\r\n": "it says",
		"\x15\x03\x01\x00\x02\x02\x46":     `\x15`,
		"+" + strings.Repeat("x", maxLine): "line of more",
	},
	"NATS": {
		"MSG foo 1 9000000000000000000\r\n": "limit", "MSG foo 1 67108865\r\n": "limit", "MSG foo 1 -5\r\n": "no number",
		"MSG foo 1\r\n":            "fields",
		"MSG foo x 5\r\nhello\r\n": "subscription", "HMSG foo 1 6 5\r\nhello\r\n": "header", "HMSG foo 1 5\r\n": "fields",
		"MSG a b c d e\r\n":       "fields",
		"MSG foo 1 3\r\nabcd\r\n": "longer", "INFO {\r\n": "JSON", "msg foo 1 3\r\nabc\r\n": "it says", "MSX\r\n": "MSX",
		"PING\n": "CR LF", "HTTP/1.1\r\n": "it says",
		"INFO " + strings.Repeat("x", maxLine): "line of more",
	},
}

func TestImproperPeersAreRefused(t *testing.T) {
	for protocol, all := range improper {
		for sent, reason := range all {
			for _, piece := range []int{1, 5, 4096} {
				_, err := read(protocol, sent, piece)
				var e *Error
				if !errors.As(err, &e) || e.Protocol != protocol || !strings.Contains(e.Reason, reason) ||
					!strings.Contains(err.Error(), "127.0.0.1:6379") {
					t.Errorf("%s, %d bytes at a time: %.60q: %v, want %q in it", protocol, piece, sent, err, reason)
				} else if len(err.Error()) > 300 {
					t.Errorf("%s: an error of %d bytes", protocol, len(err.Error()))
				}
			}
		}
	}
}

// TestEndlessReply: elements that are each small make a reply of any size.
func TestEndlessReply(t *testing.T) {
	r := &resp{}
	if err := r.received([]byte("*1000000\r\n")); err != nil {
		t.Fatal(err)
	}
	element := []byte("$4000\r\n" + strings.Repeat("x", 4000) + "\r\n")
	for n := 0; ; n += len(element) {
		err := r.received(element)
		if err != nil && n > maxReply-2*len(element) {
			return
		}
		if err != nil || n > maxReply {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

// TestRepliesDoNotAddUp: each of many replies is small, and the connection lives for ever.
func TestRepliesDoNotAddUp(t *testing.T) {
	r := &resp{}
	reply := []byte("*2\r\n$400000\r\n" + strings.Repeat("x", 400000) + "\r\n%1\r\n+a\r\n+b\r\n")
	for range maxReply / len(reply) * 2 {
		if err := r.received(reply); err != nil {
			t.Fatal(err)
		}
	}
	if r.pending != 0 || r.size != 0 || len(r.open) != 0 {
		t.Errorf("left over: %+v", r)
	}
}

// TestTLSIsNotFollowed: behind the greeting the client encrypts, and what comes is no line.
func TestTLSIsNotFollowed(t *testing.T) {
	c := NATS(&source{left: "INFO {}\r\n" + "\x16\x03\x01 anything", piece: 9})
	greeting := make([]byte, 64)
	if _, err := c.Read(greeting); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("\x16\x03\x01")); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); string(got) != "\x16\x03\x01 anything" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// FuzzPieces: what passes and what does not is the same however it is cut.
func FuzzPieces(f *testing.F) {
	for protocol := range wraps {
		for _, sent := range proper[protocol] {
			f.Add(protocol == "Redis", sent, uint64(1))
		}
		for sent := range improper[protocol] {
			f.Add(protocol == "Redis", sent, uint64(2))
		}
	}
	f.Fuzz(func(t *testing.T, redis bool, sent string, seed uint64) {
		protocol := map[bool]string{true: "Redis", false: "NATS"}[redis]
		whole, wholeErr := read(protocol, sent, len(sent)+1)
		got, err := read(protocol, sent, 1+rand.New(rand.NewPCG(seed, 0)).IntN(9))
		if Is(err) != Is(wholeErr) || err == nil && got != whole {
			t.Errorf("whole: %q, %v; in pieces: %q, %v", whole, wholeErr, got, err)
		}
	})
}

// BenchmarkRead is what the check costs: a reply of an index, 1 KB.
func BenchmarkRead(b *testing.B) {
	reply := []byte("*3\r\n$1000\r\n" + strings.Repeat("x", 1000) + "\r\n:1\r\n$3\r\nabc\r\n")
	r := &resp{}
	b.SetBytes(int64(len(reply)))
	for b.Loop() {
		if err := r.received(reply); err != nil {
			b.Fatal(err)
		}
	}
}
