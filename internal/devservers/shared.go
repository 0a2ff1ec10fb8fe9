// Package devservers gives tests real servers: the Kafka, Redis and NATS that all tests share, which deploy/dev/up
// starts and ./test with it, the clusters that deploy/dev/up3 starts, for ./test all, or one of a test's own, to be
// stopped, killed and started again.
package devservers

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
)

// User and password of the Kafka broker's encrypted address; deploy/dev/kafka sets them.
const (
	saslUser     = "refrain"
	saslPassword = "only-for-tests"
)

// Kafka returns the address of the shared broker, without encryption or password. Without one the test is skipped.
func Kafka(tb testing.TB) string {
	tb.Helper()
	return shared(tb, "REFRAIN_TEST_KAFKA")
}

// KafkaSASL returns the shared broker's address with TLS and SASL (PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512), the file
// with the certificate to trust, and who to be.
func KafkaSASL(tb testing.TB) (addr, caFile, user, password string) {
	tb.Helper()
	return shared(tb, "REFRAIN_TEST_KAFKA_SASL"), shared(tb, "REFRAIN_TEST_KAFKA_CA"), saslUser, saslPassword
}

// Redis returns the shared server's address. Its keys are everybody's: begin yours with Name, and flush nothing.
func Redis(tb testing.TB) string {
	tb.Helper()
	return shared(tb, "REFRAIN_TEST_REDIS")
}

// NATS returns the shared server's URL; it has JetStream.
func NATS(tb testing.TB) string {
	tb.Helper()
	return shared(tb, "REFRAIN_TEST_NATS")
}

// Kafka3 returns the addresses of the shared cluster of three brokers, without encryption or password.
func Kafka3(tb testing.TB) []string {
	tb.Helper()
	return strings.Split(shared(tb, "REFRAIN_TEST_KAFKA3"), ",")
}

// NATS3 returns the URLs of the shared cluster of three servers; it has JetStream.
func NATS3(tb testing.TB) []string {
	tb.Helper()
	return strings.Split(shared(tb, "REFRAIN_TEST_NATS3"), ",")
}

func shared(tb testing.TB, variable string) string {
	tb.Helper()
	addr := os.Getenv(variable)
	if addr == "" {
		up := "up"
		if strings.HasSuffix(variable, "3") {
			up = "up3"
		}
		tb.Skipf(`no server: %s is not set (deploy/dev/install, then eval "$(deploy/dev/%s DIR)")`, variable, up)
	}
	return addr
}

// Name returns a name that nobody has used, for a topic, stream, group or key: that of the test and random letters.
// Kafka and NATS both allow what is in it.
func Name(tb testing.TB) string {
	letters := func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_') {
			return r
		}
		return '-'
	}
	name := strings.Map(letters, tb.Name())
	return name[:min(len(name), 100)] + "-" + rand.Text()[:10]
}
