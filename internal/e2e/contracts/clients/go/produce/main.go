// Produce writes the posts on stdin, one a line, to Kafka as the data of events, by the official SDK of CloudEvents: produce
// BROKER TOPIC structured|binary TIME.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
)

func main() {
	config := sarama.NewConfig()
	config.Version = sarama.V2_0_0_0 // from which on records have headers
	config.Producer.Return.Successes = true
	sender, err := kafka_sarama.NewSender([]string{os.Args[1]}, config, os.Args[2])
	check(err)
	ctx := binding.WithForceBinary(context.Background())
	if os.Args[3] == "structured" {
		ctx = binding.WithForceStructured(context.Background())
	}
	in := bufio.NewScanner(os.Stdin)
	for n := 0; in.Scan(); n++ {
		check(sender.Send(ctx, (*binding.EventMessage)(wrap(in.Bytes(), n))))
	}
	check(in.Err())
	check(sender.Close(ctx))
}

func wrap(post []byte, n int) *cloudevents.Event {
	at, err := time.Parse(time.RFC3339, os.Args[4])
	check(err)
	e := cloudevents.NewEvent()
	e.SetID(strconv.Itoa(n))
	e.SetSource("/posts")
	e.SetType("org.example.post")
	e.SetTime(at)
	check(e.SetData(cloudevents.ApplicationJSON, json.RawMessage(post)))
	return &e
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
