// Feeder writes the made-up feed of `refrain demo` to a Kafka topic.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/demo"
	"refrain/feed"
)

func main() {
	brokers := flag.String("kafka", "127.0.0.1:9092", "address of a Kafka broker")
	topic := flag.String("topic", "posts", "topic to write to")
	cfg := demo.Default()
	flag.Float64Var(&cfg.Rate, "rate", cfg.Rate, "posts a second")
	flag.Uint64Var(&cfg.Seed, "seed", uint64(time.Now().UnixNano())%1e6, "of the feed: the same seed gives the same posts")
	posts := flag.Int("posts", 0, "end after so many; 0: never")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	out := &kafka.Writer{
		Addr: kafka.TCP(*brokers), Topic: *topic, Balancer: &kafka.Hash{},
		RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond,
	}
	log.Printf("writing %g posts a second to topic %s, seed %d", cfg.Rate, *topic, cfg.Seed)
	cfg.Start = feed.FromTime(time.Now())
	err := write(ctx, out, cfg, *posts)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// write sends every post when it is due, with those that are due too.
func write(ctx context.Context, out *kafka.Writer, cfg demo.Config, posts int) error {
	feed, err := demo.New(cfg)
	if err != nil {
		return err
	}
	pace, batch := demo.Pacer{Speed: 1}, []kafka.Message{}
	for n := 1; posts == 0 || n <= posts; n++ {
		p, _ := feed.Next()
		m, err := message(&p)
		if err != nil {
			return err
		}
		batch = append(batch, m)
		if len(batch) < max(1, int(cfg.Rate/20)) && n != posts {
			continue
		}
		if err := pace.Wait(ctx, p.Time); err != nil {
			return err
		}
		if err := writeRetrying(ctx, out, batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return nil
}

// writeRetrying writes until all is written: in an outage posts wait, and then come late, as those of a real feed do.
func writeRetrying(ctx context.Context, out *kafka.Writer, batch []kafka.Message) error {
	for {
		err := out.WriteMessages(ctx, batch...)
		if err == nil || ctx.Err() != nil {
			return err
		}
		log.Printf("retrying write: %v", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// message is the JSON of a post, keyed by its author, so that what one writes stays in order.
func message(p *feed.Post) (kafka.Message, error) {
	value, err := json.Marshal(map[string]any{
		"id": p.ID, "source": p.Source, "author": p.Author, "created_at": p.Time, "lang": p.Lang, "text": p.Text,
	})
	return kafka.Message{Key: []byte(p.Author), Value: value}, err
}
