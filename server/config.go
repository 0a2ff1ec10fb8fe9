package server

import (
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	httpsource "refrain/ingest/http"
	"refrain/ingest/mapping"
	"refrain/lookup/redisstore"
	"refrain/models"
	"refrain/shard"
	"refrain/sigstore/gpu"
	"refrain/text"
)

// Config is the whole configuration. deploy/refrain.yaml shows it with comments; a test keeps the two alike.
type Config struct {
	DataDir string `yaml:"data_dir"` // topics, window state, dead letters
	HTTP    string `yaml:"http"`     // address of the API
	Name    string `yaml:"name"`     // the CloudEvents source of the events: a URI-reference
	Schemas string `yaml:"schemas"`  // the absolute URL below which their JSON Schemas are; "": they name none
	Workers int    `yaml:"workers"`  // match workers in this process

	Worker string   `yaml:"worker"` // the name of this process among those that share the topics; "": that of the machine
	Roles  []string `yaml:"roles"`  // what this process does: some of Roles

	Log     Log     `yaml:"log"`
	Auth    Auth    `yaml:"auth"`
	Limits  Limits  `yaml:"limits"`
	Window  Window  `yaml:"window"`
	Models  Models  `yaml:"models"`
	Topics  Topics  `yaml:"topics"`
	Cluster Cluster `yaml:"cluster"`
	Ingest  Ingest  `yaml:"ingest"`
	Quotas  Quotas  `yaml:"quotas"`
	Publish Publish `yaml:"publish"`
	Lookup  Lookup  `yaml:"lookup"`
	Health  Health  `yaml:"health"`
	Canary  Canary  `yaml:"canary"`

	DeadLetters DeadLetters `yaml:"dead_letters"`

	// What no file says.
	Logger *slog.Logger `yaml:"-"` // hears of everything; nil: slog.Default()
	// GET /metrics; nil: there are none. The instruments are those of OpenTelemetry's global meter.
	Metrics http.Handler `yaml:"-"`
	Version string       `yaml:"-"` // of the program, for the User-Agent of webhooks
	// Now is the clock of stamps, of watermarks and of posts without a time; nil: time.Now.
	Now     func() time.Time `yaml:"-"`
	Silence time.Duration    `yaml:"-"` // see shard.Config
	// MinSentences and MinPause of shard.SnapshotConfig.
	SnapshotSentences int           `yaml:"-"`
	SnapshotPause     time.Duration `yaml:"-"`
}

// Log says what is logged, and how.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text, json or auto: text on a terminal
}

// Window says what counts as a match and what the window may hold.
type Window struct {
	Measure    string        `yaml:"measure"` // jaccard, cosine or dice
	Threshold  string        `yaml:"threshold"`
	Span       time.Duration `yaml:"span"`
	Lateness   time.Duration `yaml:"lateness"`
	Redelivery time.Duration `yaml:"redelivery"` // see shard.Redeliveries
	MaxHold    time.Duration `yaml:"max_hold"`   // how far behind the fastest source partition the slowest may hold the window
	MinTokens  int           `yaml:"min_tokens"`
	MaxMatches int           `yaml:"max_matches"`   // texts that a look-up reports; 0: all
	Flood      int           `yaml:"flood_matches"` // texts that one reports that finds more; 0: max_matches
	Budget     Bytes         `yaml:"budget"`        // 0: half the memory of the machine
	Engine     string        `yaml:"engine"`
	CUDA       CUDA          `yaml:"cuda"`
	Model      string        `yaml:"model"` // default, md5 or a file; "": see ModelName
	Bits       int           `yaml:"bits"`  // of md5
	Ones       int           `yaml:"ones"`  // of md5
	Texts      bool          `yaml:"texts"`
	Snapshots  string        `yaml:"snapshots"` // a directory; "": in DataDir; off: none
}

// CUDA says which GPUs the engines cuda and auto take, and how.
type CUDA struct {
	Device string `yaml:"device"` // all, or numbers: 0, or 0,2
	Budget Bytes  `yaml:"budget"` // of each GPU's memory; 0: 90 % of what is free
	Kernel string `yaml:"kernel"` // "": the fastest
}

// ModelName is default, md5 or a file. Where nothing is said it is default; bits and ones of their own ask for md5.
func (w *Window) ModelName() string {
	switch {
	case w.Model != "":
		return w.Model
	case w.Bits == hashcodes.DefaultBits && w.Ones == hashcodes.DefaultOnes:
		return "default"
	}
	return "md5"
}

// Models says when codes are learned anew from the window, and how.
type Models struct {
	Every      time.Duration `yaml:"every"` // 0: never
	Drift      float64       `yaml:"drift"` // when false candidates are so many times those after the last change; 0: never
	Sentences  int           `yaml:"sentences"`
	Vocabulary int           `yaml:"vocabulary"`
	Workers    int           `yaml:"workers"`
}

// Bytes is a size: in a file 64MB or 1.5GiB.
type Bytes int64

// Topics are those that the roles talk through: in the data directory of the one process that there is, or on a broker that
// several processes share.
type Topics struct {
	Partitions int          `yaml:"partitions"`
	Name       string       `yaml:"name"`     // what they begin with on a broker: NAME-sentences
	Replicas   int          `yaml:"replicas"` // on a broker; 0: three where it has three nodes or more, else as many as it has
	Kafka      KafkaCluster `yaml:"kafka"`
	NATS       NATSServer   `yaml:"nats"`
	// full: posts are refused until records expire; 0: by the disk, see limitTopics
	SentenceBytes Bytes         `yaml:"sentence_bytes"`
	EventBytes    Bytes         `yaml:"event_bytes"`   // full: the oldest events go; 0: by the disk
	ControlBytes  Bytes         `yaml:"control_bytes"` // full: deletions are refused until old ones expire
	EventAge      time.Duration `yaml:"event_age"`     // 0: as long as sentences: span + lateness + max_hold + 1 h
	Sync          bool          `yaml:"sync"`          // fsync every append: survives a power cut, at a price
}

// DeadLetters are the files of what was refused: of posts, and of events. Each is renamed before it exceeds Bytes, and Files
// of those before it are kept.
type DeadLetters struct {
	Bytes Bytes `yaml:"bytes"`
	Files int   `yaml:"files"`
}

// Ingest says where posts come from.
type Ingest struct {
	Body    Bytes         `yaml:"body"` // of one HTTP request, at most
	HTTP    HTTPSource    `yaml:"http"`
	Kafka   []KafkaSource `yaml:"kafka"`
	NATS    []NATSSource  `yaml:"nats"`
	Files   []File        `yaml:"files"`
	Bluesky Bluesky       `yaml:"bluesky"`
}

// HTTPSource is the posts sent to POST /v1/posts.
type HTTPSource struct {
	mapping.Config `yaml:",inline"` // a request may overrule it: POST /v1/posts?map=
}

// File is read once at start, from its beginning.
type File struct {
	Path           string `yaml:"path"`
	Format         string `yaml:"format"`
	Encoding       string `yaml:"encoding"` // "": UTF-8
	Records        string `yaml:"records"`  // where the posts are in a file of JSON; "": its elements or values
	Source         string `yaml:"source"`
	mapping.Config `yaml:",inline"`
}

// Bluesky is the Jetstream firehose.
type Bluesky struct {
	Enabled bool   `yaml:"enabled"`
	URL     string `yaml:"url"` // of a Jetstream server; "": a public one
}

// Health says when the service is not ready.
type Health struct {
	MaxLag time.Duration `yaml:"max_lag"` // how long a post may wait for its look-ups; 0: for ever
}

// Canary says how often the server sees for itself that posts come through.
type Canary struct {
	Every time.Duration `yaml:"every"` // 0: never
	Late  time.Duration `yaml:"late"`  // how long a pair may take until the service is not ready
}

// Default returns the configuration without a file. What is an edge's or the models' own default is theirs.
func Default() Config {
	window := detector.Default()
	redis := redisstore.Default()
	snapshots := shard.DefaultSnapshots()
	return Config{
		DataDir: "./refrain-data", HTTP: "127.0.0.1:8080", Name: "refrain", Workers: min(2, runtime.GOMAXPROCS(0)),
		Roles:  slices.Clone(Roles),
		Log:    Log{Level: "info", Format: "auto"},
		Limits: defaultLimits(),
		Window: Window{
			Measure: window.Similarity.String(), Threshold: window.Threshold.Decimal(), Span: window.Span, Lateness: window.Lateness,
			Redelivery: shard.Default().Redelivery, MaxHold: shard.Default().MaxHold, MinTokens: text.DefaultMinTokens,
			MaxMatches: 1000, Flood: 10, Engine: detector.DefaultEngine, CUDA: CUDA{Device: gpu.AllDevices},
			Bits: hashcodes.DefaultBits, Ones: hashcodes.DefaultOnes, Texts: true,
		},
		Models:  defaultModels(),
		Topics:  Topics{Partitions: 4, Name: "refrain", ControlBytes: 1 << 30},
		Cluster: Cluster{HandoverGrace: time.Minute, Session: 10 * time.Second},
		Ingest:  Ingest{Body: Bytes(httpsource.Default().MaxBody)},
		Quotas:  defaultQuotas(),
		Health:  Health{MaxLag: 5 * time.Minute}, Canary: Canary{Every: time.Minute, Late: time.Minute},
		DeadLetters: DeadLetters{Bytes: 64 << 20, Files: 8}, Silence: shard.Default().Silence,
		SnapshotSentences: snapshots.MinSentences, SnapshotPause: snapshots.MinPause,
		Lookup: Lookup{Store: "embedded", Redis: Redis{URL: Secret(redis.URL), Prefix: redis.Prefix}},
	}
}

func defaultModels() Models {
	d := models.Default()
	return Models{Every: d.Every, Drift: d.Drift, Sentences: d.Sentences, Vocabulary: d.Vocabulary, Workers: d.Workers}
}

// deployment is what events say of who found them.
func (c *Config) deployment() feed.Deployment {
	d := feed.Deployment{Name: c.Name, Schemas: c.Schemas}
	if d.Schemas != "" {
		d.Schemas = strings.TrimSuffix(d.Schemas, "/") + "/"
	}
	return d
}
