package server

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	kafkasource "refrain/ingest/kafka"
	"refrain/ingest/mapping"
	natssource "refrain/ingest/nats"
	"refrain/internal/smallfile"
)

// Auth says who may use the API. Without tokens it is open to whoever reaches it, and listens on loopback only.
type Auth struct {
	Tokens []Token  `yaml:"tokens"`
	Hosts  []string `yaml:"hosts"` // names besides localhost that the server answers to without tokens
	// Origins are those of web pages of other sites that may ask, as https://app.example.org (CORS).
	Origins []string `yaml:"origins"`
}

// Token is a bearer token and what it is good for.
type Token struct {
	Name   string   `yaml:"name"` // of who uses it, for the log
	Token  Secret   `yaml:"token"`
	Scopes []string `yaml:"scopes"` // read, write, admin
	Quota  Quota    `yaml:"quota"`  // what is 0 here is as in quotas.token
}

// Secret is a password or key, or where it stands: env:NAME or file:PATH. It prints as ***.
type Secret string

// maxSecret is more than any secret has: a larger file is another one.
const maxSecret = 64 << 10

// Read returns the secret itself. A file's line end is not part of it.
func (s Secret) Read() (string, error) {
	if name, ok := strings.CutPrefix(string(s), "env:"); ok {
		v := os.Getenv(name)
		if v == "" {
			return "", fmt.Errorf("environment variable %s is empty", name)
		}
		return v, nil
	}
	if path, ok := strings.CutPrefix(string(s), "file:"); ok {
		b, err := smallfile.Read(path, maxSecret)
		if err != nil {
			return "", err
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	return string(s), nil
}

// String hides the secret from logs.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides it from %#v.
func (s Secret) GoString() string { return s.String() }

// TLS is how to speak TLS to a broker.
type TLS struct {
	Enabled    bool   `yaml:"enabled"`
	CA         string `yaml:"ca"`          // PEM file of the authorities to trust; "": the system's
	Cert       string `yaml:"cert"`        // PEM file of our certificate; "": none
	Key        string `yaml:"key"`         // PEM file of its key
	ServerName string `yaml:"server_name"` // that the certificate must bear; "": the broker's host
}

// SASL is how to log in to a Kafka broker.
type SASL struct {
	Mechanism string `yaml:"mechanism"` // "": none; plain, scram-sha-256 or scram-sha-512
	User      string `yaml:"user"`
	Password  Secret `yaml:"password"`
}

// KafkaCluster says where a cluster is and how to be let in.
type KafkaCluster struct {
	Brokers []string `yaml:"brokers"`
	TLS     TLS      `yaml:"tls"`
	SASL    SASL     `yaml:"sasl"`
}

// KafkaSource is a group's membership: posts of some topics.
type KafkaSource struct {
	KafkaCluster `yaml:",inline"`
	Topics       []string `yaml:"topics"`
	Group        string   `yaml:"group"` // "": refrain
	Start        string   `yaml:"start"` // earliest (also "") or latest: where a group begins that has no offsets
	Source       string   `yaml:"source"`
	MaxRecord    Bytes    `yaml:"max_record"` // 0: that of the source
	Tombstones   string   `yaml:"tombstones"` // reject (also "") or delete: what a record without a value means

	mapping.Config `yaml:",inline"`
}

// group is the name of the group: that of Refrain where none is given.
func (k *KafkaSource) group() string { return cmp.Or(k.Group, kafkasource.Default().Group) }

// NATSServer says where a server is and how to be let in.
type NATSServer struct {
	Servers     []string `yaml:"servers"`
	User        string   `yaml:"user"`
	Password    Secret   `yaml:"password"`
	Token       Secret   `yaml:"token"`
	Credentials string   `yaml:"credentials"` // file with a JWT and a seed
	TLS         TLS      `yaml:"tls"`
}

// NATSSource is a durable consumer of a JetStream stream: posts.
type NATSSource struct {
	NATSServer `yaml:",inline"`
	Stream     string `yaml:"stream"`
	Consumer   string `yaml:"consumer"` // "": refrain
	Subject    string `yaml:"subject"`
	Start      string `yaml:"start"` // earliest (also "") or latest
	Source     string `yaml:"source"`
	MaxRecord  Bytes  `yaml:"max_record"` // 0: that of the source

	mapping.Config `yaml:",inline"`
}

// consumer is the name of the consumer: that of Refrain where none is given.
func (n *NATSSource) consumer() string { return cmp.Or(n.Consumer, natssource.Default().Consumer) }

// Publish says where events go, besides GET /v1/events.
type Publish struct {
	Kafka    []KafkaSink `yaml:"kafka"`
	NATS     []NATSSink  `yaml:"nats"`
	Webhooks []Webhook   `yaml:"webhooks"`
}

// KafkaSink is a topic that events go to.
type KafkaSink struct {
	Name         string `yaml:"name"` // of its cursor: another name starts again with the oldest event
	KafkaCluster `yaml:",inline"`
	Topic        string `yaml:"topic"`
	Mode         string `yaml:"mode"` // of the CloudEvents binding: structured (also "") or binary
}

// NATSSink is a subject of a JetStream stream that events go to.
type NATSSink struct {
	Name       string `yaml:"name"`
	NATSServer `yaml:",inline"`
	Subject    string `yaml:"subject"`
}

// Webhook is an HTTP endpoint that events go to.
type Webhook struct {
	Name    string            `yaml:"name"`
	URL     string            `yaml:"url"`
	Secrets []Secret          `yaml:"secrets"` // the first is the newest
	Headers map[string]Secret `yaml:"headers"`

	Types          []string `yaml:"types"`     // of events; none: all
	Threshold      string   `yaml:"threshold"` // least similarity; "": all events
	Languages      []string `yaml:"languages"`
	MinOccurrences int      `yaml:"min_occurrences"`
	OtherAuthors   bool     `yaml:"other_authors"`

	// What is 0 or empty here is as in webhook.Default.
	Batch       int             `yaml:"batch"`        // most events a request; 0 or 1: events one by one
	BatchFormat string          `yaml:"batch_format"` // event (also "") or array
	BatchWait   time.Duration   `yaml:"batch_wait"`
	Timeout     time.Duration   `yaml:"timeout"`
	Retries     []time.Duration `yaml:"retries"`
	Concurrency int             `yaml:"concurrency"`
	Pending     int             `yaml:"pending"`

	AllowPrivate bool     `yaml:"allow_private"`
	Allow        []string `yaml:"allow"` // networks, as 10.1.0.0/16
}

// Lookup says where the index of reuse by post and text is kept.
type Lookup struct {
	Store     string        `yaml:"store"`     // embedded, redis or none
	Retention time.Duration `yaml:"retention"` // after the last touch; 0: the window's span
	Redis     Redis         `yaml:"redis"`
}

// Redis is a server or cluster.
type Redis struct {
	URL    Secret `yaml:"url"`
	Prefix string `yaml:"prefix"` // of all keys; "": as by default
}
