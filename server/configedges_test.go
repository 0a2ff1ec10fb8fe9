package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/publish/webhook"
)

func TestSecretIsReadWhereItStands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOME_SECRET", "from the environment")
	for s, want := range map[Secret]string{
		"plain": "plain", "": "", "env:SOME_SECRET": "from the environment", Secret("file:" + path): "from a file",
	} {
		if got, err := s.Read(); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", string(s), got, err, want)
		}
	}
	for _, s := range []Secret{"env:NO_SUCH_VARIABLE", "file:/no/such/file"} {
		if _, err := s.Read(); err == nil {
			t.Errorf("%s: no error", string(s))
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	c := Default()
	c.Auth.Tokens = []Token{{Name: "a", Token: "hush"}}
	c.Publish.Webhooks = []Webhook{{Secrets: []Secret{"hush"}, Headers: map[string]Secret{"X": "hush"}}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, c); strings.Contains(got, "hush") {
			t.Errorf("%s prints the secret: %s", verb, got)
		}
	}
}

func TestValidateEdges(t *testing.T) {
	kafka := func(c KafkaCluster) Config {
		d := Default()
		d.Ingest.Kafka = []KafkaSource{{KafkaCluster: c, Topics: []string{"posts"}}}
		return d
	}
	hook := func(w Webhook) Config {
		d := Default()
		w.Name, w.URL = "hook", "https://example.org/"
		if w.Secrets == nil {
			w.Secrets = []Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwAAAAAAAA"}
		}
		d.Publish.Webhooks = []Webhook{w}
		return d
	}
	with := func(change func(*Config)) Config {
		d := Default()
		change(&d)
		return d
	}
	cluster := KafkaCluster{Brokers: []string{"a:9092"}}
	for _, test := range []struct {
		want string
		c    Config
	}{
		{"http: 0.0.0.0:8080 is open to the network", with(func(c *Config) { c.HTTP = "0.0.0.0:8080" })},
		{"http: :8080 is open to the network", with(func(c *Config) { c.HTTP = ":8080" })},
		{"auth.tokens[0].scopes: \"all\"", with(func(c *Config) {
			c.Auth.Tokens = []Token{{Name: "a", Token: "sixteen bytes at least", Scopes: []string{"all"}}}
		})},
		{"auth.tokens[0].token: is too short", with(func(c *Config) {
			c.Auth.Tokens = []Token{{Name: "a", Token: "fifteen bytes..", Scopes: []string{"read"}}}
		})},
		{"auth.tokens[0].token: environment variable NOT_THERE is empty", with(func(c *Config) {
			c.Auth.Tokens = []Token{{Name: "a", Token: "env:NOT_THERE", Scopes: []string{"read"}}}
		})},
		{"ingest.kafka[0].brokers: want addresses", kafka(KafkaCluster{})},
		{"ingest.kafka[0].brokers: \"a\": want HOST:PORT", kafka(KafkaCluster{Brokers: []string{"a"}})},
		{"ingest.kafka[0].sasl.mechanism: \"gssapi\"",
			kafka(KafkaCluster{Brokers: cluster.Brokers, SASL: SASL{Mechanism: "gssapi", User: "u", Password: "p"}})},
		{"ingest.kafka[0].sasl.mechanism: \"OAUTHBEARER\": want plain, scram-sha-256 or scram-sha-512; others, as OAUTHBEARER",
			kafka(KafkaCluster{Brokers: cluster.Brokers, SASL: SASL{Mechanism: "OAUTHBEARER", User: "u", Password: "p"}})},
		{"ingest.kafka[0].sasl.user", kafka(KafkaCluster{Brokers: cluster.Brokers,
			SASL: SASL{Mechanism: "plain", Password: "p"}})},
		{"ingest.kafka[0].tls.enabled: is false", kafka(KafkaCluster{Brokers: cluster.Brokers, TLS: TLS{CA: "ca.pem"}})},
		{"ingest.kafka[1].topics: is read twice under one name", with(func(c *Config) {
			c.Ingest.Kafka = []KafkaSource{
				{KafkaCluster: cluster, Topics: []string{"t"}}, {KafkaCluster: cluster, Topics: []string{"t"}, Group: "refrain"},
			}
		})},
		{"publish.nats[0].name: \"x\" is there twice", with(func(c *Config) {
			c.Publish.Kafka = []KafkaSink{{Name: "x", KafkaCluster: cluster, Topic: "t"}}
			c.Publish.NATS = []NATSSink{{Name: "x", NATSServer: NATSServer{Servers: []string{"nats://a"}}, Subject: "s"}}
		})},
		{"publish.kafka[0].name: \"a/b\"", with(func(c *Config) {
			c.Publish.Kafka = []KafkaSink{{Name: "a/b",
				KafkaCluster: cluster, Topic: "t"}}
		})},
		{"publish.webhooks[0].secrets: want at least one", hook(Webhook{Secrets: []Secret{}})},
		{"publish.webhooks[0].batch: want 0 to 100", hook(Webhook{Batch: 101})},
		{"publish.webhooks[0].threshold", hook(Webhook{Threshold: "2"})},
		{"publish.webhooks[0].allow: \"10.0.0.1\": want a network", hook(Webhook{Allow: []string{"10.0.0.1"}})},
		{"publish.webhooks[0]: secret 1: want whsec_ and base64", hook(Webhook{Secrets: []Secret{"plain"}})},
		{"publish.webhooks[0]: header \"Host\": set by delivery itself", hook(Webhook{Headers: map[string]Secret{"Host": "x"}})},
		{"publish.webhooks[0]: retries: -1s, want a time above 0", hook(Webhook{Retries: []time.Duration{-time.Second}})},
		{"publish.webhooks[0]: event type \"reuse\": want", hook(Webhook{Types: []string{"reuse"}})},
		{"http: \"127.0.0.1:99999\": want HOST:PORT", with(func(c *Config) { c.HTTP = "127.0.0.1:99999" })},
		{"ingest.bluesky: url: want wss://HOST/PATH", with(func(c *Config) {
			c.Ingest.Bluesky = Bluesky{Enabled: true, URL: "ftp://a/"}
		})},
		{"lookup.redis: url: redis: invalid URL scheme: http", with(func(c *Config) {
			c.Lookup.Store, c.Lookup.Redis.URL = "redis", "http://a/"
		})},
		{"lookup.store: \"disk\"", with(func(c *Config) { c.Lookup.Store = "disk" })},
	} {
		err := test.c.Validate()
		wantParts(t, err, "configuration: "+test.want)
		if n := strings.Count(err.Error(), "\n"); n != 0 {
			t.Errorf("%s: %d complaints, want one: %v", test.want, n+1, err)
		}
	}
	open := with(func(c *Config) {
		c.HTTP, c.Auth.Tokens = "0.0.0.0:8080", []Token{{Name: "a", Token: "sixteen bytes at least", Scopes: []string{"read"}}}
	})
	if err := open.Validate(); err != nil {
		t.Errorf("open, with a token: %v", err)
	}
}

// TestZeroesOfAWebhook: what an entry of the file leaves out, or sets to 0, is as by default.
func TestZeroesOfAWebhook(t *testing.T) {
	got, err := webhookConfig(&Webhook{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	want := webhook.Default()
	want.Timeout, want.Headers = time.Minute, map[string]string{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}
