// Setup makes the topics and the stream of the example of docker-compose.yml, and waits for the servers first.
//
// On a cluster of your own they are whoever runs it's to make: how many partitions and replicas there are, and how
// long records are kept, is theirs to say.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"
)

func main() {
	brokers := flag.String("kafka", "", "addresses of Kafka brokers, with commas between; none: leave Kafka alone")
	topics := flag.String("topics", "posts,reuse", "topics to make")
	partitions := flag.Int("partitions", 4, "of each topic")
	replicas := flag.Int("replicas", 1, "of each topic")
	server := flag.String("nats", "", "URL of a NATS server; none: leave NATS alone")
	stream := flag.String("stream", "REUSE", "stream to make")
	subject := flag.String("subject", "reuse.events", "that it keeps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if *brokers != "" {
		for topic := range strings.SplitSeq(*topics, ",") {
			retryUntil(ctx, "topic "+topic, func() error {
				return makeTopic(ctx, *brokers, kafka.TopicConfig{Topic: topic, NumPartitions: *partitions, ReplicationFactor: *replicas})
			})
		}
	}
	if *server != "" {
		retryUntil(ctx, "stream "+*stream, func() error { return makeStream(ctx, *server, *stream, *subject) })
	}
}

// retryUntil tries for two minutes: the servers may still be starting.
func retryUntil(ctx context.Context, what string, try func() error) {
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, try() },
		backoff.WithMaxElapsedTime(2*time.Minute), backoff.WithNotify(func(err error, _ time.Duration) {
			log.Printf("retrying %s: %v", what, err)
		}))
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
	log.Printf("%s: there", what)
}

func makeTopic(ctx context.Context, broker string, topic kafka.TopicConfig) error {
	if topic.ReplicationFactor > 2 { // what is acknowledged outlives a broker
		topic.ConfigEntries = []kafka.ConfigEntry{{ConfigName: "min.insync.replicas", ConfigValue: "2"}}
	}
	client := &kafka.Client{Addr: kafka.TCP(strings.Split(broker, ",")...), Timeout: 10 * time.Second}
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{topic},
	})
	if err != nil {
		return err
	}
	if err := made.Errors[topic.Topic]; err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
		return err
	}
	return nil
}

func makeStream(ctx context.Context, server, stream, subject string) error {
	conn, err := nats.Connect(server)
	if err != nil {
		return err
	}
	defer conn.Close()
	client, err := js.New(conn)
	if err != nil {
		return err
	}
	_, err = client.CreateOrUpdateStream(ctx, js.StreamConfig{
		Name: stream, Subjects: []string{subject}, MaxAge: 24 * time.Hour, MaxBytes: 1 << 30,
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return nil
}
