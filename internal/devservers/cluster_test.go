package devservers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"
)

// TestNATS3OutlivesOne: what three servers have stored is there without any one of them.
func TestNATS3OutlivesOne(t *testing.T) {
	NATS3(t) // half a minute: only where ./test all has started clusters
	c, subject := StartNATS3(t), Name(t)
	js := mustJetStream(t, strings.Join(c.Addrs(), ","))
	config := jetstream.StreamConfig{Name: subject, Subjects: []string{subject}, Replicas: 3}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject, []byte("before")); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		c.Kill(n)
		wantMessage(t, js, subject)
		c.Start(n)
	}
	c.KillAll()
	c.StartAll()
	wantMessage(t, js, subject)
}

func wantMessage(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()
	wantBefore(t, func(ctx context.Context) (string, error) { return message(ctx, js, name) })
}

// wantBefore reads until it succeeds: a cluster that has lost a node may have to choose a leader first.
func wantBefore(t *testing.T, read func(context.Context) (string, error)) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for again := time.NewTicker(50 * time.Millisecond); ; {
		got, err := read(t.Context())
		if err == nil && got != "before" {
			t.Errorf("read %q, want what was written before", got)
		}
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func message(ctx context.Context, js jetstream.JetStream, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return "", err
	}
	got, err := stream.GetMsg(ctx, 1)
	if err != nil {
		return "", err
	}
	return string(got.Data), nil
}

// TestKafka3OutlivesOne: what two of three brokers have acknowledged is there without any one of them.
func TestKafka3OutlivesOne(t *testing.T) {
	Kafka3(t) // half a minute: only where ./test all has started clusters
	c, topic := StartKafka3(t), Name(t)
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	res, err := client(transport, c.Addrs()[0]).CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 1, ReplicationFactor: 3}},
	})
	if err != nil || res.Errors[topic] != nil {
		t.Fatal(err, res)
	}
	awaitLeaders(t, client(transport, c.Addrs()[0]), topic, 1)
	mustWrite(t, nil, c.Addrs()[0], topic, "before")
	c.Pause(1)
	c.Continue(1)
	c.Kill(1)
	wantBefore(t, func(ctx context.Context) (string, error) { return read(ctx, nil, c.Addrs()[1], topic) })
	c.Start(1)
}
