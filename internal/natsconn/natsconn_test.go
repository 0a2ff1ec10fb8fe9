package natsconn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"refrain/internal/natsconn"
	"refrain/internal/natsconn/natstest"
)

func TestValidateReportsEverything(t *testing.T) {
	c := natsconn.Config{
		Servers: []string{"nats://me:hunter2@", "127.0.0.1:4222", "nats://127.0.0.1:4222"},
		User:    "a", Token: "b", TLS: natsconn.TLS{Cert: "c"},
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`server "nats://xxxxx@"`, "want nats://HOST:PORT", "exclude each other", "cert and key"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nsays nothing of %q", err, want)
		}
	}
	if strings.Contains(err.Error()+c.String(), "hunter2") {
		t.Errorf("a password is shown: %v, %v", err, c.String())
	}
	if strings.Count(err.Error(), "want nats://") != 2 {
		t.Errorf("%v: want two wrong servers", err)
	}
	if err := (&natsconn.Config{}).Validate(); err == nil {
		t.Error("no servers, and no error")
	}
}

func TestConnectWaysToLogIn(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	token := func(o *server.Options) { o.Authorization = "sesame" }
	user := func(o *server.Options) { o.Users = []*server.User{{Username: "refrain", Password: "right"}} }
	for name, test := range map[string]struct {
		server func(*server.Options)
		client natsconn.Config
		ok     bool
	}{
		"token":          {token, natsconn.Config{Token: "sesame"}, true},
		"wrong token":    {token, natsconn.Config{Token: "sesam"}, false},
		"password":       {user, natsconn.Config{User: "refrain", Password: "right"}, true},
		"wrong password": {user, natsconn.Config{User: "refrain", Password: "wrong"}, false},
		"nobody":         {user, natsconn.Config{}, false},
		"no credentials": {token, natsconn.Config{Credentials: missing}, false},
		"no authority":   {token, natsconn.Config{Token: "sesame", TLS: natsconn.TLS{CA: missing}}, false},
		"no end":         {token, natsconn.Config{Token: "sesame", TLS: natsconn.TLS{CA: "/dev/zero"}}, false},
		"no TLS there":   {nil, natsconn.Config{TLS: natsconn.TLS{Enabled: true}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.client.Servers = natstest.MustServer(t, test.server).Config().Servers
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			conn, err := natsconn.Connect(ctx, test.client, natstest.Quiet())
			if (err == nil) != test.ok || errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("error %v, want one: %v, and at once", err, !test.ok)
			}
			if err != nil && (strings.Contains(err.Error(), "sesam") || !strings.Contains(err.Error(), "nats")) {
				t.Errorf("error %v", err)
			}
			if conn != nil {
				conn.Close()
			}
		})
	}
}

// TestNewCredentials writes another user's credentials to the file and lets the server refuse the first: the connection
// comes back as the other one.
func TestNewCredentials(t *testing.T) {
	op, account := newKeys(t, nkeys.CreateOperator), newKeys(t, nkeys.CreateAccount)
	claims := jwt.NewAccountClaims(account.public)
	resolver := &server.MemAccResolver{}
	store := func() {
		token, err := claims.Encode(op.pair)
		if err == nil {
			err = resolver.Store(account.public, token)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store()
	s := natstest.MustServer(t, func(o *server.Options) {
		o.JetStream, o.TrustedKeys, o.AccountResolver = false, []string{op.public}, resolver
	})
	cfg := s.Config()
	cfg.Credentials = filepath.Join(t.TempDir(), "user.creds")
	first := writeCredentials(t, cfg.Credentials, account)
	reconnected := make(chan struct{}, 1)
	conn, err := natsconn.Connect(t.Context(), cfg, natstest.Quiet(), nats.ReconnectHandler(func(*nats.Conn) { reconnected <- struct{}{} }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	writeCredentials(t, cfg.Credentials, account)
	claims.Revoke(first)
	store()
	s.Stop()
	s.Start()
	select {
	case <-reconnected:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection did not come back:", conn.LastError())
	}
}

type keys struct {
	pair   nkeys.KeyPair
	public string
}

func newKeys(t *testing.T, create func() (nkeys.KeyPair, error)) (k keys) {
	t.Helper()
	var err error
	if k.pair, err = create(); err == nil {
		k.public, err = k.pair.PublicKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// writeCredentials makes a user of an account, whose public key it returns.
func writeCredentials(t *testing.T, path string, account keys) string {
	t.Helper()
	user := newKeys(t, nkeys.CreateUser)
	token, err := jwt.NewUserClaims(user.public).Encode(account.pair)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(token, seed)
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return user.public
}

func TestConnectWaitsForTheServer(t *testing.T) {
	s := natstest.MustServer(t, nil)
	cfg := s.Config()
	s.Stop()
	got := make(chan *nats.Conn)
	go func() {
		conn, err := natsconn.Connect(t.Context(), cfg, natstest.Quiet())
		if err != nil {
			t.Error(err)
		}
		got <- conn
	}()
	s.Start()
	conn := <-got
	conn.Close()
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := natsconn.Connect(ctx, cfg, natstest.Quiet()); err == nil {
		t.Error("connected to nothing")
	}
	s.Start() // for the cleanup
}
