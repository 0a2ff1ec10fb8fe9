package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"refrain/internal/units"
)

// Duration is a time.Duration that YAML writes as 90m, 24h or 7d.
type Duration time.Duration

// UnmarshalText reads what units.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := units.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// UnmarshalYAML is UnmarshalText with the line in the error.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	return atLine(n, d.UnmarshalText([]byte(n.Value)))
}

// MarshalText writes Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Bytes is a size that YAML writes as 64MB or 1.5GiB.
type Bytes int64

// UnmarshalText reads what units.ParseBytes reads.
func (b *Bytes) UnmarshalText(text []byte) error {
	v, err := units.ParseBytes(string(text))
	*b = Bytes(v)
	return err
}

// UnmarshalYAML is UnmarshalText with the line in the error.
func (b *Bytes) UnmarshalYAML(n *yaml.Node) error { return atLine(n, b.UnmarshalText([]byte(n.Value))) }

// atLine makes err one of those that the decoder collects, so that a file's mistakes are told together.
func atLine(n *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", n.Line, err)}}
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type config\.(\w+)`)
	wrongType  = regexp.MustCompile("cannot unmarshal !!\\w+ (`[^`]*` )?into (\\S+)")
)

// sections are the keys that lead to a type of this package.
var sections = map[string]string{
	"Config": "", "Log": "log.", "Window": "window.", "Models": "models.", "Topics": "topics.", "Ingest": "ingest.",
	"File": "ingest.files.", "Bluesky": "ingest.bluesky.", "KafkaSource": "ingest.kafka.", "NATSSource": "ingest.nats.",
	"Auth": "auth.", "Token": "auth.tokens.", "Publish": "publish.", "KafkaSink": "publish.kafka.", "NATSSink": "publish.nats.",
	"Webhook": "publish.webhooks.", "Lookup": "lookup.", "Redis": "lookup.redis.", "TLS": "tls.", "SASL": "sasl.",
}

// kinds says in words what a Go type wants. What is not here is a section.
var kinds = map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false", "string": "a text", "config.Secret": "a text"}

func wants(goType string) string {
	if strings.HasPrefix(goType, "[]") {
		return "a list"
	}
	return cmp.Or(kinds[goType], "a section of settings")
}

// plainly says what the decoder says without the names of Go types.
func plainly(messages []string) string {
	for i, m := range messages {
		if f := unknownKey.FindStringSubmatch(m); f != nil {
			m = strings.Replace(m, f[0], sections[f[2]]+f[1]+" is no setting", 1)
		}
		if f := wrongType.FindStringSubmatch(m); f != nil {
			m = strings.Replace(m, f[0], strings.Replace(f[1], "` ", "`: ", 1)+"want "+wants(f[2]), 1)
		}
		messages[i] = m
	}
	return strings.Join(messages, "; ")
}
