package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hush is in every secret of these tests; what quotes a part of one shows that.
const hush = "hUsh"

var hushed = strings.Repeat(hush, 8)

// TestMistakesShowNoSecret: a configuration that is wrong in or beside a secret is refused with words that have none of it.
func TestMistakesShowNoSecret(t *testing.T) {
	for _, config := range []string{
		"auth: {tokens: [{name: a, token: SECRET, scopes: [owner]}]}",
		"auth: {tokens: [{name: a, token: SECRET, scopes: read}]}",
		"auth: {tokens: [{name: a, token: [SECRET], scopes: [read]}]}",
		"auth: {tokens: [{name: a, token: {SECRET: 1}, scopes: [read]}]}",
		"auth: {tokens: [SECRET]}",
		"auth: {tokens: SECRET}",
		"auth: SECRET",
		"auth: {tokens: [{name: a, token: \"file:/no/such/SECRET\", scopes: [read]}]}",
		"auth: {tokens: [{name: a, token: SECRET, scopes: [read]}, {name: b, token: SECRET, scopes: [read]}]}",
		"auth: {tokens: [{name: a, token: SECRET, scopes: [read]}\n  broken: [",
		"publish: {webhooks: [{name: a, url: \"https://u:SECRET@host:port/\", secrets: [SECRET]}]}",
		"publish: {webhooks: [{name: a, url: \"https://u:SECRET@ho st/?SECRET\", secrets: [whsec_SECRET!]}]}",
		"publish: {webhooks: [{name: a, url: \"u:SECRET@host\", secrets: [whsec_SECRET!], headers: {\"X Y\": SECRET}}]}",
		"publish: {webhooks: [{name: a, url: \"ftp://u:SECRET@host/\", secrets: SECRET, headers: SECRET}]}",
		"publish: {webhooks: [{name: a, url: \"https://example.org/\", secrets: [whsec_SECRET!], headers: {\"X-Y\": " +
			"\"SECRET\\n\"}}]}",
		"publish: {webhooks: [{name: a, url: \"https://example.org/\", secrets: [SECRET], headers: {Host: SECRET}}]}",
		"lookup: {store: redis, redis: {url: \"redis://u:SECRET@host:port/\"}}",
		"lookup: {store: redis, redis: {url: \"redis://u:SECRET@127.0.0.1:1/notanumber\"}}",
		"lookup: {store: redis, redis: {url: \"redis://u:SECRET@ho st/\"}}",
		"lookup: {store: redis, redis: {url: \"u:SECRET@host\"}}",
		"lookup: {store: redis, redis: {url: \"SECRET\"}}",
		"lookup: {store: redis, redis: {url: \"redis://u:SECRET@127.0.0.1:1/0?bad_option=SECRET\"}}",
		"lookup: {store: redis, redis: {url: \"redis://u:%zzSECRET@127.0.0.1:1/0\"}}",
		"lookup: {store: redis, redis: \"redis://u:SECRET@127.0.0.1:1/0\"}",
		"ingest: {nats: [{servers: [\"nats://u:SECRET@host:port\"], stream: a}]}",
		"ingest: {nats: [{servers: [\"nats://u:SECRET@ho st\"], stream: a}]}",
		"ingest: {nats: [{servers: [\"http://u:SECRET@host:4222\"], stream: a}]}",
		"ingest: {nats: [{servers: [\"nats://SECRET@127.0.0.1:1/path?x\"], stream: \"\"}]}",
		"ingest: {nats: [{servers: [\"nats://u:%zzSECRET@127.0.0.1:1\"], stream: a, password: SECRET, user: \"\", " +
			"token: SECRET}]}",
		"publish: {nats: [{name: a, servers: [\"nats://u:SECRET@127.0.0.1:port\"], subject: \"a.>\", password: {a: SECRET}}]}",
		"ingest: {kafka: [{brokers: [\"u:SECRET@host:9092\"], topics: []}]}",
		"ingest: {kafka: [{brokers: [\"SECRET@host:9092\"], topics: [a]}]}",
		"ingest: {kafka: [{brokers: [\"kafka://u:SECRET@host\"], topics: [a]}]}",
		"ingest: {kafka: [{brokers: [\"host:9092\"], topics: [a], sasl: {mechanism: SECRETS, user: a, password: SECRET}}]}",
		"ingest: {kafka: [{brokers: [\"host:9092\"], topics: [a], sasl: {mechanism: plain, password: SECRET}}]}",
		"ingest: {kafka: [{brokers: [\"host:9092\"], topics: [a], sasl: {mechanism: plain, user: a, password: [SECRET]}}]}",
		"ingest: {kafka: [{brokers: [\"host:9092\"], topics: [a], sasl: SECRET}]}",
		"ingest: {bluesky: {enabled: true, url: \"wss://u:SECRET@ho st/\"}}",
		"ingest: {bluesky: {enabled: true, url: \"ftp://u:SECRET@host/\"}}",
	} {
		t.Run(config, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "refrain.yaml")
			mechanism := strings.NewReplacer("SECRETS", "scram", "SECRET", hushed)
			if err := os.WriteFile(path, []byte(mechanism.Replace(config)), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var out bytes.Buffer
			m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
			status := m.Run(ctx, []string{"serve", "--config", path, "--data", t.TempDir(), "--http", "127.0.0.1:0"})
			if status == 0 || strings.Contains(strings.ReplaceAll(out.String(), "/no/such/"+hushed, ""), hush) {
				t.Errorf("status %d:\n%s", status, &out)
			}
		})
	}
}
