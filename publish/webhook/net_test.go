package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/dns/dnsmessage"

	"refrain/feed"
	"refrain/publish/webhook"
)

// serve starts a receiver on loopback; what it gets goes through the same request type.
func serve(t *testing.T, handle func(http.ResponseWriter, *request)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		got := request{at: time.Now(), header: req.Header, body: body}
		if err == nil {
			err = got.read()
		}
		if err != nil {
			t.Error(err)
		}
		handle(w, &got)
	}))
	t.Cleanup(s.Close)
	return s
}

// eventually waits for what the network brings, as long as a slow machine may need.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// overNet is a rig that uses the network.
func overNet(t *testing.T, url string) *rig {
	r := newRig(t)
	r.recv = nil
	r.cfg.URL = url
	return r
}

func TestSignaturesVerify(t *testing.T) {
	for _, batch := range []int{1, 2} {
		var bodies []string // altered copies must not pass
		got := make(chan *request, 10)
		s := serve(t, func(w http.ResponseWriter, q *request) { got <- q })
		r := overNet(t, s.URL)
		r.cfg.AllowPrivate, r.cfg.Batch = true, batch
		r.append(events("a", "b")...)
		r.start()
		for range 2 / batch {
			q := <-got
			for _, secret := range []string{oldSecret, newSecret} {
				wh, err := webhooks.NewWebhook(secret)
				if err != nil {
					t.Fatal(err)
				}
				if err := wh.Verify(q.body, q.header); err != nil {
					t.Errorf("secret %s: %v", secret, err)
				}
				if err := wh.Verify(append(q.body, ' '), q.header); err == nil {
					t.Error("an altered body passes")
				}
			}
			bodies = append(bodies, string(q.body))
		}
		r.end()
		if len(bodies) != 2/batch {
			t.Errorf("%d requests", len(bodies))
		}
	}
}

// TestSignaturesVerifyInPython has another language's library of the same specification look at real requests.
func TestSignaturesVerifyInPython(t *testing.T) {
	if testing.Short() {
		t.Skip("installs a Python package")
	}
	packages := install(t, "standardwebhooks==1.1.0")
	got := make(chan *request, 10)
	s := serve(t, func(w http.ResponseWriter, q *request) { got <- q })
	r := overNet(t, s.URL)
	r.cfg.AllowPrivate = true
	r.append(match("p", func(m *feed.Match) { m.Later.Text = "größer als \"zwei\" \u2028 日本" }))
	r.start()
	q := <-got
	r.end()

	headers := map[string]string{}
	for name := range q.header {
		headers[name] = q.header.Get(name)
	}
	var in bytes.Buffer
	for _, c := range []struct{ secret, body string }{
		{newSecret, string(q.body)}, {oldSecret, string(q.body)},
		{newSecret, strings.Replace(string(q.body), "zwei", "drei", 1)},
		{"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", string(q.body)},
	} {
		line, err := json.Marshal(map[string]any{"secret": c.secret, "body": c.body, "headers": headers})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/verify.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages)
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	id := q.header.Get("Webhook-Id")
	want := fmt.Sprintf("ok %s\nok %s\nWebhookVerificationError\nWebhookVerificationError\n", id, id)
	if err != nil || string(out) != want {
		t.Errorf("%v, got\n%swant\n%s", err, out, want)
	}
}

// install returns a folder with a Python package, or skips.
func install(t *testing.T, name string) (dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dir = t.TempDir()
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--target", dir, name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no Python with %s: %v %s", name, err, bytes.TrimSpace(out))
	}
	return dir
}

// TestEveryEventArrivesOverTheNetwork is TestEveryEventArrives on real connections, with an outage of refused ones.
func TestEveryEventArrivesOverTheNetwork(t *testing.T) {
	var mu sync.Mutex
	n, seen := 0, map[string]bool{}
	handle := func(w http.ResponseWriter, q *request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%5 == 0 {
			w.WriteHeader(500)
			return
		}
		for _, p := range q.posts {
			seen[p] = true
		}
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	s := serve(t, handle)
	r := overNet(t, s.URL)
	r.cfg.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	r.cfg.Retries = slices.Repeat([]time.Duration{50 * time.Millisecond}, 100)
	posts := names("p", 600)
	r.start()
	r.append(events(posts[:200]...)...)
	eventually(t, "200 events through failures", func() bool { return count() == 200 })
	r.append(events(posts[200:300]...)...)
	r.end() // with some of them on their way
	address := s.Listener.Addr().String()
	s.Close()
	r.start()
	r.append(events(posts[300:400]...)...)
	eventually(t, "the outage", func() bool { return strings.Contains(r.slog.String(), "endpoint is down") })
	r.end()
	r.start()
	eventually(t, "the outage, after a restart", func() bool { return strings.Count(r.slog.String(), "endpoint is down") == 2 })
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the port is taken: %v", err)
	}
	again := httptest.NewUnstartedServer(s.Config.Handler)
	again.Listener.Close()
	again.Listener = listener
	again.Start()
	defer again.Close()
	r.append(events(posts[400:]...)...)
	eventually(t, "all events", func() bool { return count() == len(posts) && r.Status().Lag == 0 })
	r.end()
	if len(r.letters.reasons) != 0 || r.stored() != "599" {
		t.Errorf("dead letters %v, cursor %q", r.letters.reasons, r.stored())
	}
}

func TestFailuresOfTheConnection(t *testing.T) {
	tlsServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	tlsServer.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	tlsServer.StartTLS()
	defer tlsServer.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tests := map[string]struct{ url, want string }{
		"certificate": {tlsServer.URL, "certificate"},
		"refused":     {closed.URL, "refused"},
		"no name":     {"http://refrain.invalid/", "lookup refrain.invalid"},
		"no http":     {strings.Replace(tlsServer.URL, "https:", "http:", 1), "400"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := overNet(t, test.url)
			r.cfg.AllowPrivate = true
			r.append(events("p")...)
			r.start()
			eventually(t, "an attempt", func() bool { return r.Status().Last != nil })
			r.end()
			if last := r.Status().Last; !strings.Contains(last.Error, test.want) {
				t.Errorf("error %q, want %q", last.Error, test.want)
			}
		})
	}
}

// TestAddressesRefused tries what leads to a machine's own network, in all spellings. A server listens on this
// machine's loopback addresses, and must not be reached.
func TestAddressesRefused(t *testing.T) {
	var reached atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(func() { // after the parallel tests below
		s.Close()
		if reached.Load() != 0 {
			t.Error("a request has reached loopback")
		}
	})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	hosts := map[string]string{ // to a part of the error
		"127.0.0.1": "", "127.9.9.9": "", "[::1]": "", "169.254.169.254": "", "10.0.0.1": "", "172.16.0.1": "",
		"172.31.255.255": "",
		"192.168.0.1":    "", "100.64.0.1": "", "0.0.0.0": "", "[::]": "", "[::ffff:127.0.0.1]": "", "[::ffff:10.0.0.1]": "",
		"[::127.0.0.1]": "", "[fe80::1]": "", "[fe80::1%25lo]": "", "[fc00::1]": "", "[fd00:ec2::254]": "",
		"[64:ff9b::7f00:1]":   "",
		"[64:ff9b:1::7f00:1]": "", "[2002:7f00:1::]": "", "[2001:0:7f00:1::]": "", "224.0.0.1": "", "[ff02::1]": "",
		"255.255.255.255": "", "192.0.2.1": "", "198.18.0.1": "", "240.0.0.1": "", "localhost": "",
		// Spellings that some resolvers take for addresses and others for names that do not exist.
		"2130706433": "lookup", "0x7f000001": "lookup", "0177.0.0.1": "lookup", "127.1": "lookup", "0x7f.1": "lookup",
		"127.0.0.1.": "lookup", "0": "lookup", "0300.0250.0.1": "lookup", "017700000001": "lookup", "localhost.": "lookup",
		// What is before an @ is no host, and large letters are small ones.
		"user:hidden@127.0.0.1": "", "example.org@127.0.0.1": "", "example.org%2f@127.0.0.1": "", "LOCALHOST": "",
		// IPv4 within IPv6, more of them, and metadata.
		"[::ffff:7f00:1]": "", "[::ffff:169.254.169.254]": "", "[::ffff:0:127.0.0.1]": "", "[64:ff9b::a9fe:a9fe]": "",
		"[64:ff9b:1::a9fe:a9fe]": "",
		"[2002:a9fe:a9fe::]":     "", "[fec0::1]": "", "[2001:db8::1]": "", "[fd20:ce::254]": "", "100.100.100.200": "",
		"168.63.129.16": "",
	}
	if len(hosts) < 50 {
		t.Errorf("%d hosts", len(hosts))
	}
	for host, other := range hosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			r := overNet(t, fmt.Sprintf("http://%s:%s/latest/meta-data", host, port))
			r.append(events("p")...)
			r.start()
			eventually(t, "an attempt", func() bool { return r.Status().Last != nil })
			r.end()
			last := r.Status().Last
			clear := strings.Contains(last.Error, "is refused; list it under allow")
			if other == "" && !clear || other != "" && !clear && !strings.Contains(last.Error, other) || last.Status != 0 {
				t.Errorf("last attempt %+v", last)
			}
			if clear && !strings.Contains(r.slog.String(), "allow_private") {
				t.Errorf("the log does not say how to allow it:\n%s", r.slog)
			}
		})
	}
}

// TestMetadataServices are open to nobody who does not name them.
func TestMetadataServices(t *testing.T) {
	addresses := []string{"169.254.169.254", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe",
		"fd00:42::42",
		"100.100.100.200", "168.63.129.16", "::ffff:100.100.100.200", "::ffff:168.63.129.16"}
	for _, address := range addresses {
		a := netip.MustParseAddr(address)
		named := []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}
		for _, c := range []webhook.Config{
			{}, {AllowPrivate: true}, {AllowPrivate: true, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		} {
			if !c.Refuses(a) {
				t.Errorf("%s is allowed by allow_private: %v, allow: %v", a, c.AllowPrivate, c.Allow)
			}
		}
		for _, c := range []webhook.Config{{Allow: named}, {AllowPrivate: true, Allow: named}} {
			if c.Refuses(a.Unmap()) { // which is what a dialer makes of it
				t.Errorf("%s is refused with allow: %v", a, c.Allow)
			}
		}
	}
	private := webhook.Config{AllowPrivate: true}
	for address, want := range map[string]bool{
		"fd00:ec3::254": false, "fd20:ce::255": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"::1": false, "168.63.129.17": false,
		"100.64.0.1": true, "fe80::1": true, "100.100.100.201": true,
	} {
		if got := private.Refuses(netip.MustParseAddr(address)); got != want {
			t.Errorf("allow_private: %s refused: %v, want %v", address, got, want)
		}
	}
}

func TestAddressesAllowed(t *testing.T) {
	prefix := func(s string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(s)} }
	tests := map[string]struct {
		allow   []netip.Prefix
		private bool
		host    string
		refused bool
	}{
		"listed":             {prefix("127.0.0.0/8"), false, "127.0.0.1", false},
		"listed, mapped":     {prefix("::ffff:127.0.0.0/104"), false, "127.0.0.1", false},
		"another is listed":  {prefix("10.0.0.0/8"), false, "127.0.0.1", true},
		"private":            {nil, true, "127.0.0.1", false},
		"private, a name":    {nil, true, "localhost", false},
		"metadata is not":    {nil, true, "169.254.169.254", true},
		"unspecified is not": {nil, true, "0.0.0.0", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(http.ResponseWriter, *request) {})
			_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
			r := overNet(t, "http://"+net.JoinHostPort(test.host, port))
			r.cfg.Allow, r.cfg.AllowPrivate = test.allow, test.private
			r.append(events("p")...)
			r.start()
			eventually(t, "an attempt", func() bool { return r.Status().Last != nil })
			r.end()
			if last := r.Status().Last; (last.Status == 0) != test.refused ||
				strings.Contains(last.Error, "is refused") != test.refused {
				t.Errorf("last attempt %+v, want refused: %v", last, test.refused)
			}
		})
	}
}

func TestRefusedAddressIsTriedSlowly(t *testing.T) {
	r := overNet(t, "http://127.0.0.1:1/")
	r.append(events(names("p", 10)...)...)
	r.start()
	eventually(t, "an attempt", func() bool { return r.Status().Failed > 0 })
	r.end()
	// Those that began before the first was refused, and the next one not within the minute.
	if n := r.Status().Failed; n > 4 {
		t.Errorf("%d attempts at once", n)
	}
	var a struct{ Time, Next time.Time }
	first, _, _ := strings.Cut(r.log.String(), "\n")
	if err := json.Unmarshal([]byte(first), &a); err != nil || a.Next.Sub(a.Time) < 48*time.Second {
		t.Errorf("first line %s: %v; want a pause of about a minute", first, err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		outside := serve(t, func(w http.ResponseWriter, _ *request) {
			w.Header().Set("Location", inside.URL+"/?token=hidden")
			w.WriteHeader(status)
		})
		r := overNet(t, outside.URL)
		r.cfg.AllowPrivate = true // even then
		r.append(events("p")...)
		r.start()
		eventually(t, "an attempt", func() bool { return r.Status().Last != nil })
		r.end()
		if last := r.Status().Last; last.Status != status || !strings.Contains(last.Error, "redirects are not followed") ||
			strings.Contains(last.Error, "hidden") || reached.Load() != 0 {
			t.Errorf("last attempt %+v, %d requests inside", last, reached.Load())
		}
	}
}

// TestNameThatChangesItsMind is DNS rebinding: whoever looked the name up to check it got a public address; the
// connection gets another.
func TestNameThatChangesItsMind(t *testing.T) {
	var reached atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	names := newNames(t, netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("127.0.0.1"))
	resolver := names.resolver()
	checked, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.test.")
	if err != nil || len(checked) != 1 || !checked[0].IsGlobalUnicast() || checked[0].IsPrivate() {
		t.Fatalf("the first answer: %v, %v", checked, err)
	}
	r := overNet(t, "http://rebind.test.:"+port+"/")
	e, err := webhook.New(r.cfg, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	e.SetResolver(resolver)
	r.append(events("p")...)
	r.run(e)
	eventually(t, "an attempt", func() bool { return r.Status().Last != nil })
	r.end()
	if last := r.Status().Last; !strings.Contains(last.Error, "is refused") ||
		!strings.Contains(last.Error, "127.0.0.1") || reached.Load() != 0 {
		t.Errorf("last attempt %+v, %d requests reached loopback", last, reached.Load())
	}
}

// TestNamesOfPrivateAddresses: a name is as good as the address that it has.
func TestNamesOfPrivateAddresses(t *testing.T) {
	var reached atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(func() {
		s.Close()
		if reached.Load() != 0 {
			t.Error("a request has reached loopback")
		}
	})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, address := range []string{
		"127.0.0.1", "127.1.2.3", "10.0.0.1", "192.168.1.1", "169.254.169.254", "168.63.129.16", "100.100.100.200",
		"0.0.0.0", "224.0.0.1",
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			r := overNet(t, "http://inside.test.:"+port+"/")
			e, err := webhook.New(r.cfg, r.deps)
			if err != nil {
				t.Fatal(err)
			}
			e.SetResolver(newNames(t, netip.MustParseAddr(address)).resolver())
			r.append(events("p")...)
			r.run(e)
			eventually(t, "an attempt", func() bool { return r.Status().Last != nil })
			r.end()
			if last := r.Status().Last; !strings.Contains(last.Error, "is refused; list it under allow") ||
				!strings.Contains(last.Error, address) || last.Status != 0 {
				t.Errorf("last attempt %+v", last)
			}
		})
	}
}

// nameServer answers every question for an IPv4 address with the next of its answers; the last one stays.
type nameServer struct {
	conn    net.PacketConn
	mu      sync.Mutex
	answers []netip.Addr
}

func newNames(t *testing.T, answers ...netip.Addr) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nameServer{conn: conn, answers: answers}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.serve(t)
	}()
	t.Cleanup(func() {
		conn.Close()
		<-ended
	})
	return n
}

func (n *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

func (n *nameServer) serve(t *testing.T) {
	buf := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		var m dnsmessage.Message
		if err == nil {
			err = m.Unpack(buf[:size])
		}
		if err != nil || len(m.Questions) != 1 {
			t.Errorf("question: %v", err)
			continue
		}
		if out, err := n.answer(m); err != nil {
			t.Error(err)
		} else if _, err := n.conn.WriteTo(out, from); err != nil {
			t.Error(err)
		}
	}
}

func (n *nameServer) answer(m dnsmessage.Message) ([]byte, error) {
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		n.mu.Lock()
		a := n.answers[0]
		n.answers = n.answers[min(1, len(n.answers)-1):]
		n.mu.Unlock()
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: a.As4()},
		}}
	}
	return m.Pack()
}
