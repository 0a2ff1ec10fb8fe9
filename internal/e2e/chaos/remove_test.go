package chaos

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"
)

// removeTopics leaves the brokers as they were: the next run would wait for what this one has left there.
func (d *deployment) removeTopics() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	remove := d.removeFromKafka
	if d.b.kind == "nats" {
		remove = d.removeFromNATS
	}
	if err := remove(ctx); err != nil {
		d.t.Logf("the topics are left: %v", err)
	}
}

func (d *deployment) removeFromKafka(ctx context.Context) error {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(d.b.direct...), Transport: transport}
	all, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return err
	}
	remove := &kafka.DeleteTopicsRequest{}
	for _, t := range all.Topics {
		if strings.HasPrefix(t.Name, d.name) {
			remove.Topics = append(remove.Topics, t.Name)
		}
	}
	_, err = client.DeleteTopics(ctx, remove)
	return err
}

func (d *deployment) removeFromNATS(ctx context.Context) error {
	conn, err := nats.Connect(strings.Join(d.b.direct, ","))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	names := js.StreamNames(ctx)
	for name := range names.Name() {
		if strings.Contains(name, d.name) {
			if err := js.DeleteStream(ctx, name); err != nil {
				return err
			}
		}
	}
	return names.Err()
}
