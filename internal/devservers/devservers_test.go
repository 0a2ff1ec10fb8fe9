package devservers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// restarts are the two ways in which a test takes a server away.
var restarts = map[string]func(*Server){"stop": (*Server).Stop, "kill": (*Server).Kill}

func TestKafkaKeepsItsRecords(t *testing.T) {
	s := StartKafka(t)
	topic := Name(t)
	CreateTopic(t, s.Addr(), topic, 3)
	mustWrite(t, nil, s.Addr(), topic, "before")
	for name, end := range restarts {
		end(s)
		wantGone(t, s.Addr())
		s.Start()
		if got := mustRead(t, nil, s.Addr(), topic); got != "before" {
			t.Errorf("after %s: read %q, want what was written before it", name, got)
		}
	}
}

func TestKafkaSASL(t *testing.T) {
	addr, ca, user, password := KafkaSASL(t)
	sha256, err256 := scram.Mechanism(scram.SHA256, user, password)
	sha512, err512 := scram.Mechanism(scram.SHA512, user, password)
	if err256 != nil || err512 != nil {
		t.Fatal(err256, err512)
	}
	for _, mechanism := range []sasl.Mechanism{plain.Mechanism{Username: user, Password: password}, sha256, sha512} {
		t.Run(mechanism.Name(), func(t *testing.T) {
			topic := Name(t)
			CreateTopic(t, Kafka(t), topic, 1)
			transport := mustTransport(t, ca, mechanism)
			mustWrite(t, transport, addr, topic, "secret")
			if got := mustRead(t, transport, addr, topic); got != "secret" {
				t.Errorf("read %q", got)
			}
		})
	}
	t.Run("wrong password", func(t *testing.T) {
		transport := mustTransport(t, ca, plain.Mechanism{Username: user, Password: password + "!"})
		if _, err := client(transport, addr).Metadata(t.Context(), &kafka.MetadataRequest{}); err == nil {
			t.Error("the broker answered")
		}
	})
}

func TestRedisKeepsItsKeys(t *testing.T) {
	s := StartRedis(t, "--appendfsync", "always")
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1})
	defer c.Close()
	if err := c.Set(t.Context(), "key", "before", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for name, end := range restarts {
		end(s)
		wantGone(t, s.Addr())
		s.Start()
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		if got, err := c.Get(t.Context(), "key").Result(); got != "before" || err != nil {
			t.Errorf("after %s: got %q, %v", name, got, err)
		}
		c.Close()
	}
}

// TestRedisArgs: a server without a log has forgotten the key.
func TestRedisArgs(t *testing.T) {
	s := StartRedis(t, "--appendonly", "no")
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	if err := c.Set(t.Context(), "key", "before", 0).Err(); err != nil {
		t.Fatal(err)
	}
	c.Close() // or it remembers for a second that nobody answered
	s.Kill()
	s.Start()
	c = redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	if got, err := c.Get(t.Context(), "key").Result(); err != redis.Nil {
		t.Errorf("got %q, %v, want no key", got, err)
	}
}

func TestNATSKeepsItsMessages(t *testing.T) {
	s := StartNATS(t)
	subject := Name(t)
	js := mustJetStream(t, s.Addr())
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: subject, Subjects: []string{subject}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject, []byte("before")); err != nil {
		t.Fatal(err)
	}
	js.Conn().Close()
	for name, end := range restarts {
		end(s)
		wantGone(t, strings.TrimPrefix(s.Addr(), "nats://"))
		s.Start()
		stream, err := mustJetStream(t, s.Addr()).Stream(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := stream.GetMsg(t.Context(), 1); err != nil || string(got.Data) != "before" {
			t.Errorf("after %s: got %v, %v", name, got, err)
		}
	}
}

// TestSharedServers writes to each and reads it back.
func TestSharedServers(t *testing.T) {
	t.Run("kafka", func(t *testing.T) {
		addr, topic := Kafka(t), Name(t)
		CreateTopic(t, addr, topic, 1)
		mustWrite(t, nil, addr, topic, "shared")
		if got := mustRead(t, nil, addr, topic); got != "shared" {
			t.Errorf("read %q", got)
		}
	})
	t.Run("redis", func(t *testing.T) {
		c := redis.NewClient(&redis.Options{Addr: Redis(t)})
		defer c.Close()
		key := Name(t)
		c.Set(t.Context(), key, "shared", time.Minute)
		if got, err := c.Get(t.Context(), key).Result(); got != "shared" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("nats", func(t *testing.T) {
		if _, err := mustJetStream(t, NATS(t)).AccountInfo(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestNoServerOutlivesItsTest, nor a process that ended without cleaning up.
func TestNoServerOutlivesItsTest(t *testing.T) {
	if dir := os.Getenv("DEVSERVERS_DIE"); dir != "" {
		s := StartRedis(t)
		if err := os.WriteFile(filepath.Join(dir, "addr"), []byte(s.Addr()), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	s := StartRedis(t) // skips where there is none
	s.Stop()
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestNoServerOutlivesItsTest$")
	child.Env = append(os.Environ(), "DEVSERVERS_DIE="+dir, "TMPDIR="+dir)
	child.Stdout = os.Stderr
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	addr, err := os.ReadFile(filepath.Join(dir, "addr"))
	if err != nil {
		t.Fatal(err)
	}
	wantGone(t, string(addr))
}

func TestNamesAreUniqueAndLegal(t *testing.T) {
	t.Run("ä b/c.*>", func(t *testing.T) {
		a, b := Name(t), Name(t)
		if a == b || len(a) > 200 {
			t.Errorf("%q and %q", a, b)
		}
		if strings.ContainsAny(a, " ./*>ä") {
			t.Errorf("%q is no name of a stream", a)
		}
	})
}

// wantGone asks until nobody listens on addr any more.
func wantGone(t *testing.T, addr string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for again := time.NewTicker(20 * time.Millisecond); ; {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s still answers", addr)
		}
	}
}

func client(t *kafka.Transport, addr string) *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(addr), Transport: t, Timeout: 10 * time.Second}
}

func mustTransport(t *testing.T, caFile string, mechanism sasl.Mechanism) *kafka.Transport {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("%s holds no certificate", caFile)
	}
	transport := &kafka.Transport{TLS: &tls.Config{RootCAs: roots}, SASL: mechanism}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func mustWrite(t *testing.T, transport *kafka.Transport, addr, topic, value string) {
	t.Helper()
	if transport == nil {
		transport = &kafka.Transport{}
		defer transport.CloseIdleConnections()
	}
	res, err := client(transport, addr).Produce(t.Context(), &kafka.ProduceRequest{
		Topic: topic, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes([]byte(value))}),
	})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		t.Fatalf("write to %s: %v", topic, err)
	}
}

func mustRead(t *testing.T, transport *kafka.Transport, addr, topic string) string {
	t.Helper()
	value, err := read(t.Context(), transport, addr, topic)
	if err != nil {
		t.Fatalf("read from %s: %v", topic, err)
	}
	return value
}

// read returns the first record of partition 0.
func read(ctx context.Context, transport *kafka.Transport, addr, topic string) (string, error) {
	if transport == nil {
		transport = &kafka.Transport{}
		defer transport.CloseIdleConnections()
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	dialer := &kafka.Dialer{TLS: transport.TLS, SASLMechanism: transport.SASL}
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{addr}, Topic: topic, Dialer: dialer, MaxWait: 100 * time.Millisecond,
	})
	defer r.Close()
	m, err := r.ReadMessage(ctx)
	return string(m.Value), err
}

func mustJetStream(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	c, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
