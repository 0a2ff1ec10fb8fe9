// Events reads messages from stdin, each a line of JSON, as the official SDK of CloudEvents reads them from a binding, and
// writes each event in them as a line: events http|kafka|nats.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	sdknats "github.com/cloudevents/sdk-go/protocol/nats/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	sdkhttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/nats-io/nats.go"
)

type message struct {
	Headers map[string]string
	Body    string
}

func main() {
	read := map[string]func(message) ([]event.Event, error){"http": overHTTP, "kafka": overKafka, "nats": overNATS}[os.Args[1]]
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for in.More() {
		var m message
		if err := in.Decode(&m); err != nil {
			log.Fatal(err)
		}
		events, err := read(m)
		if err != nil {
			log.Fatalf("%v: %.500s", err, m.Body)
		}
		for _, e := range events {
			write(out, e)
		}
	}
}

func write(out *json.Encoder, e event.Event) {
	if err := e.Validate(); err != nil {
		log.Fatal(err)
	}
	if err := out.Encode(e); err != nil {
		log.Fatal(err)
	}
}

func overHTTP(m message) ([]event.Event, error) {
	header := http.Header{}
	for name, value := range m.Headers {
		header.Set(name, value)
	}
	r, err := http.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	if strings.HasPrefix(header.Get("content-type"), event.ApplicationCloudEventsBatchJSON) {
		return sdkhttp.NewEventsFromHTTPRequest(r)
	}
	return one(sdkhttp.NewMessageFromHttpRequest(r))
}

func overKafka(m message) ([]event.Event, error) {
	headers := map[string][]byte{}
	for name, value := range m.Headers {
		headers[name] = []byte(value)
	}
	return one(kafka_sarama.NewMessage([]byte(m.Body), m.Headers["content-type"], headers))
}

func overNATS(m message) ([]event.Event, error) {
	msg := nats.NewMsg("events")
	msg.Data = []byte(m.Body)
	for name, value := range m.Headers {
		msg.Header.Set(name, value)
	}
	return one(sdknats.NewMessage(msg))
}

func one(m binding.Message) ([]event.Event, error) {
	e, err := binding.ToEvent(context.Background(), m)
	if err != nil {
		return nil, err
	}
	return []event.Event{*e}, nil
}
