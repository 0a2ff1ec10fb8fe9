package kafkaconn_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustNew(t *testing.T, addr string) *kafkaconn.Conn {
	t.Helper()
	c, err := kafkaconn.New(kafkaconn.Config{Brokers: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rude is a listener that ends every connection without a word, as a port for TLS does when it is spoken to without.
func rude(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1)) // else it would be a reset, now and then
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String()
}

const guess = "perhaps this port wants TLS (tls.enabled) or a login (sasl.mechanism)"

func TestABrokerThatHangsUpAtFirst(t *testing.T) {
	_, err := mustNew(t, rude(t)).Probe(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the broker hung up: "+guess) {
		t.Errorf("got %v, want a guess why", err)
	}
}

// TestABrokerThatHangsUpLater is being stopped: it has been spoken to without trouble.
func TestABrokerThatHangsUpLater(t *testing.T) {
	c := mustNew(t, devservers.Kafka(t))
	if err := c.Explain(io.EOF); !strings.Contains(err.Error(), guess) {
		t.Errorf("before an answer: %v, want a guess why", err)
	}
	if _, err := c.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Explain(io.EOF).Error(), "the broker hung up: EOF"; got != want {
		t.Errorf("after an answer: %s, want %s", got, want)
	}
}
