package kafkaconn

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDialTLS: a certificate is checked for the host of the address, or for the name in its place.
func TestDialTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "", "example.com": "", "example.org": "example.org"} {
		addr := server.Listener.Addr().String()
		c, err := New(Config{Brokers: []string{addr}, TLS: &TLS{CA: ca, ServerName: name}})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := c.dial(t.Context(), "tcp", addr)
		switch {
		case err == nil && want == "":
			_ = conn.Close() // it is a test
		case err == nil || want == "" || !strings.Contains(err.Error(), want):
			t.Errorf("server name %q: %v", name, err)
		}
	}
}

// TestReportIsRare: what is sent again and again is logged once in a while.
func TestReportIsRare(t *testing.T) {
	var log strings.Builder
	c, err := New(Config{Brokers: []string{"localhost:9092"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.report(os.ErrInvalid)
	}
	if n := strings.Count(log.String(), "connection ended"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, log.String())
	}
}
