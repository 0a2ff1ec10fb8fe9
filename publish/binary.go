package publish

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Attribute is one of an event's context attributes, its value as CloudEvents has it in a string.
type Attribute struct{ Name, Value string }

// Binary is an event in parts, as the binary mode of the CloudEvents bindings sends it: its attributes beside its data.
type Binary struct {
	Attributes  []Attribute // in their order, without datacontenttype
	ContentType string      // datacontenttype; "" without one
	Data        []byte      // JSON
}

// Binary takes the event apart.
func (e *Event) Binary() (b Binary, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(e.Data))
	if _, err := d.ReadToken(); err != nil {
		return Binary{}, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return Binary{}, err
		}
		if err := b.read(d, name.String()); err != nil {
			return Binary{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if b.Data == nil {
		return Binary{}, errors.New("there are no data")
	}
	return b, nil
}

func (b *Binary) read(d *jsontext.Decoder, name string) error {
	if name == "data" {
		v, err := d.ReadValue()
		b.Data = bytes.Clone(v)
		return err
	}
	v, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch kind := v.Kind(); {
	case kind == 'n': // CloudEvents: as if it were not there
	case kind == '{' || kind == '[':
		return errors.New("is no attribute's value")
	case name == "datacontenttype":
		b.ContentType = v.String()
	default:
		b.Attributes = append(b.Attributes, Attribute{name, v.String()})
	}
	return nil
}
