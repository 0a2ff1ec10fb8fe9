package kafkaconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/wirecheck"
)

// ErrUnreachable is wrapped by errors that may go away by themselves: no broker answers. Others want a change of the
// configuration or of the cluster.
var ErrUnreachable = errors.New("no broker answers")

// NoTopic says that a topic does not exist, or is hidden from this user.
type NoTopic struct{ Topic, Brokers string }

func (e *NoTopic) Error() string {
	return fmt.Sprintf("topic %s does not exist; create it with: kafka-topics.sh --bootstrap-server %s --create "+
		"--topic %s --partitions 4",
		e.Topic, e.Brokers, e.Topic)
}

// probeTimeout bounds a Probe: dialling, TLS, SASL, one answer.
const probeTimeout = 15 * time.Second

// Probe connects, logs in and looks the topics up, in their order. It asks for metadata first, since that is where
// brokers say plainly what is wrong; to most other requests a refused client hears "broker not available".
func (c *Conn) Probe(ctx context.Context, topics ...string) ([]kafka.Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	t := c.Transport(topics...)
	defer t.Close()
	m, err := c.Client(t).Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
	if err != nil {
		return nil, fmt.Errorf("kafka %s: %w", c, c.Explain(err))
	}
	c.answered.Store(true)
	if err := c.reach(ctx, m.Brokers); err != nil {
		return nil, fmt.Errorf("kafka %s: %w", c, err)
	}
	if err := c.check(m.Topics, topics); err != nil {
		return nil, fmt.Errorf("kafka %s: %w", c, err)
	}
	return m.Topics, nil
}

// reach tries the addresses that the brokers give for themselves: clients are sent there, whatever address they
// began with.
func (c *Conn) reach(ctx context.Context, brokers []kafka.Broker) error {
	var first error
	for _, b := range brokers {
		addr := net.JoinHostPort(b.Host, strconv.Itoa(b.Port))
		conn, err := c.connect(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		if first == nil {
			first = fmt.Errorf("%w: it says that it is to be reached at %s, and there: %w (advertised.listeners of the "+
				"broker must name an address that works from here)",
				ErrUnreachable, addr, err)
		}
	}
	return first
}

func (c *Conn) check(found []kafka.Topic, topics []string) error {
	var errs []error
	for i := range topics {
		var err error
		switch e := found[i].Error; {
		case errors.Is(e, kafka.UnknownTopicOrPartition):
			err = &NoTopic{Topic: topics[i], Brokers: c.String()}
		case e != nil && !errors.Is(e, kafka.LeaderNotAvailable):
			err = fmt.Errorf("topic %s: %w", topics[i], c.Explain(e))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Explain adds to an error what an operator can do about it, where that is known.
func (c *Conn) Explain(err error) error {
	hint := c.hint(err)
	if hint == "" {
		return err
	}
	if c.unreachable(err) {
		return fmt.Errorf("%w: %s: %w", ErrUnreachable, hint, err)
	}
	return fmt.Errorf("%s: %w", hint, err)
}

// unreachable reports whether waiting may help.
func (c *Conn) unreachable(err error) bool {
	var op *net.OpError
	var network net.Error
	return wirecheck.Is(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &op) && op.Op == "dial" ||
		errors.As(err, &network) && network.Timeout()
}

func (c *Conn) hint(err error) string {
	var code kafka.Error
	if errors.As(err, &code) {
		return c.hintFor(code)
	}
	if h := hintTLS(err); h != "" {
		return h
	}
	switch {
	case wirecheck.Is(err):
		return "no Kafka broker is there"
	case c.unreachable(err):
		return "is it running, and is the address right?"
	case HungUp(err):
		return "the broker hung up" + c.missing()
	}
	return ""
}

// HungUp reports whether a broker has ended the connection without a word.
func HungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "connection reset")
}

// missing guesses why a broker ends a connection without a word. One that has answered before is being stopped.
func (c *Conn) missing() string {
	switch {
	case c.answered.Load():
		return ""
	case c.tls == nil && c.sasl == nil:
		return ": perhaps this port wants TLS (tls.enabled) or a login (sasl.mechanism)"
	case c.tls == nil:
		return ": perhaps this port wants TLS (tls.enabled)"
	case c.sasl == nil:
		return ": perhaps this port does not speak TLS (tls.enabled), or wants a login (sasl.mechanism) or a client " +
			"certificate (tls.cert and tls.key)"
	}
	return ": perhaps this port does not speak TLS (tls.enabled)"
}

func (c *Conn) hintFor(code kafka.Error) string {
	switch code {
	case kafka.SASLAuthenticationFailed:
		return "the broker refuses this user or password (sasl.user, sasl.password), or knows it under another sasl.mechanism"
	case kafka.UnsupportedSASLMechanism:
		return "the broker does not offer this sasl.mechanism on this port"
	case kafka.IllegalSASLState:
		return "this port wants no login: leave sasl.mechanism empty, or use another port"
	case kafka.TopicAuthorizationFailed:
		return "this user has no right to the topic: an ACL of the cluster is missing"
	case kafka.GroupAuthorizationFailed:
		return "this user has no right to the consumer group: an ACL of the cluster is missing"
	case kafka.ClusterAuthorizationFailed:
		return "this user has no right to do this in the cluster: an ACL is missing"
	}
	return ""
}

func hintTLS(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		header  tls.RecordHeaderError
		alert   tls.AlertError
	)
	switch {
	case errors.As(err, &unknown):
		return "the broker's certificate comes from an authority that is not trusted here: name it in tls.ca"
	case errors.As(err, &host):
		return "the broker's certificate is for another name: set tls.server_name to one that it bears"
	case errors.As(err, &invalid):
		return "the broker's certificate is not valid"
	case errors.As(err, &header):
		return "this port does not speak TLS: set tls.enabled to false, or use another port"
	case errors.As(err, &alert):
		return "the broker refuses our TLS: perhaps it wants a client certificate (tls.cert and tls.key)"
	}
	return ""
}
