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
	return d.eachStream(ctx, func(js jetstream.JetStream, config jetstream.StreamConfig) error {
		return js.DeleteStream(ctx, config.Name)
	})
}

// wantReplicas wants everything on three NATS servers to outlive any of them. Of Kafka topics this is checked when they are
// opened.
func (d *deployment) wantReplicas() {
	d.t.Helper()
	if d.b.kind != "nats" || d.b.nodes == nil {
		return
	}
	err := d.eachStream(d.t.Context(), func(_ jetstream.JetStream, config jetstream.StreamConfig) error {
		if config.Replicas != 3 {
			d.t.Errorf("stream %s has %d replicas, want 3", config.Name, config.Replicas)
		}
		return nil
	})
	if err != nil {
		d.t.Error(err)
	}
}

// eachStream visits the streams of the deployment.
func (d *deployment) eachStream(ctx context.Context, visit func(jetstream.JetStream, jetstream.StreamConfig) error) error {
	conn, err := nats.Connect(strings.Join(d.b.direct, ","))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	all := js.ListStreams(ctx)
	for info := range all.Info() {
		if strings.Contains(info.Config.Name, d.name) {
			if err := visit(js, info.Config); err != nil {
				return err
			}
		}
	}
	return all.Err()
}
