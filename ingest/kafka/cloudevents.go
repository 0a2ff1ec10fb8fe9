package kafka

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/segmentio/kafka-go/protocol"

	"refrain/feed"
)

// event is what a record holds that came as a CloudEvent.
type event struct {
	data []byte // the post
	time string // of the event; "": it has none
}

// unwrap takes the post out of an event, in either mode of CloudEvents' binding for Kafka. What is no event is a post itself.
// (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md)
func unwrap(headers []protocol.Header, value []byte) (event, error) {
	kind, _, _ := strings.Cut(strings.ToLower(headerOf(headers, "content-type")), ";")
	kind = strings.TrimSpace(kind)
	if !strings.HasPrefix(kind, "application/cloudevents") {
		return event{value, headerOf(headers, "ce_time")}, nil // binary mode: all but the data is in headers
	}
	if kind != "application/cloudevents+json" {
		return event{}, fmt.Errorf("an event in the form %.100q: only application/cloudevents+json is read", kind)
	}
	e, err := decodeEvent(value)
	if err != nil {
		return event{}, fmt.Errorf("read event: %w", err)
	}
	return e, nil
}

// timeOr is the event's time, or the record's where the event has none that can be read; 0 without either.
func (e *event) timeOr(record time.Time) feed.Time {
	if t, err := feed.ParseTime(e.time); e.time != "" && err == nil {
		return t
	}
	if record.After(time.Unix(0, 0)) {
		return feed.FromTime(record)
	}
	return 0
}

func headerOf(headers []protocol.Header, name string) string {
	for i := range headers {
		if strings.EqualFold(headers[i].Key, name) {
			return string(headers[i].Value)
		}
	}
	return ""
}

// decodeEvent reads an event in structured mode, as far as it is wanted. Whether its data are a post is for others to say.
func decodeEvent(value []byte) (e event, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return event{}, errors.New("want a JSON object")
	}
	for _, err = d.ReadToken(); err == nil && d.PeekKind() == '"'; {
		err = e.decodeMember(d)
	}
	if err == nil {
		_, err = d.ReadToken() // the brace
	}
	if err != nil {
		return event{}, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return event{}, errors.New("something is behind the object")
	}
	if e.data == nil {
		return event{}, errors.New("data: missing")
	}
	return e, nil
}

func (e *event) decodeMember(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	v, err := d.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return err
	}
	switch name {
	case "data":
		e.data = bytes.Clone(v)
	case "data_base64":
		e.data, err = base64.StdEncoding.DecodeString(text(v))
	case "time":
		e.time = text(v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// text is what a JSON string says; of another value, nothing.
func text(v jsontext.Value) string {
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(s)
}
