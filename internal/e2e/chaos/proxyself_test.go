package chaos

import (
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// TestProxy: what is silenced does not pass until the end, and comes then or is lost; what is cut ends.
func TestProxy(t *testing.T) {
	p := startProxies(t, 1)[0]
	p.setTarget(startEcho(t))
	rng := rand.New(rand.NewPCG(1, 1))
	conn := mustDial(t, p)
	wantEcho(t, conn, "before")
	end := p.silence(rng, silence{answers: true})
	late := mustDial(t, p)
	mustSend(t, late, "late")
	wantNothing(t, late)
	end(false)
	wantReceived(t, late, "late")

	end = p.silence(rng, silence{requests: true, answers: true})
	lost := mustDial(t, p)
	mustSend(t, lost, "lost")
	wantNothing(t, lost)
	end(true)
	wantEnd(t, lost)

	for _, l := range p.sample(rng, 1) {
		l.cut()
	}
	wantEnd(t, conn)
	wantEcho(t, mustDial(t, p), "after")
}

func startEcho(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // it ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(conn, conn)
		}
	}()
	return l.Addr().String()
}

func mustDial(t *testing.T, p *proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func mustSend(t *testing.T, conn net.Conn, what string) {
	t.Helper()
	if _, err := conn.Write([]byte(what)); err != nil {
		t.Fatal(err)
	}
}

func wantEcho(t *testing.T, conn net.Conn, what string) {
	t.Helper()
	mustSend(t, conn, what)
	wantReceived(t, conn, what)
}

func wantReceived(t *testing.T, conn net.Conn, what string) {
	t.Helper()
	heard := make([]byte, len(what))
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != what {
		t.Fatalf("heard %q, %v, want %q", heard, err, what)
	}
}

func wantNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Fatalf("heard %d byte", n)
	}
}

func wantEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	if timeout, ok := err.(net.Error); err == nil || ok && timeout.Timeout() {
		t.Fatalf("%v, want the end of the connection", err)
	}
}
