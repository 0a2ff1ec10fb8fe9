// Package config reads the configuration of `refrain serve`.
//
// One YAML file, then environment variables, then flags, each over the one before. A key that does not exist is
// an error that names it, wherever it stands. The zero Config is not usable: Default is.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"refrain/internal/units"
	"refrain/text"
)

// Config is the whole configuration. deploy/refrain.yaml shows it with comments; a test keeps the two alike.
type Config struct {
	DataDir string `yaml:"data_dir"` // topics, window state, dead letters
	HTTP    string `yaml:"http"`     // address of the API
	Name    string `yaml:"name"`     // the CloudEvents source of the events
	Workers int    `yaml:"workers"`  // match workers in this process

	Log     Log     `yaml:"log"`
	Auth    Auth    `yaml:"auth"`
	Window  Window  `yaml:"window"`
	Models  Models  `yaml:"models"`
	Topics  Topics  `yaml:"topics"`
	Ingest  Ingest  `yaml:"ingest"`
	Publish Publish `yaml:"publish"`
	Lookup  Lookup  `yaml:"lookup"`
}

// Log says what is logged, and how.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text, json or auto: text on a terminal
}

// Window says what counts as a match and what the window may hold.
type Window struct {
	Threshold  string   `yaml:"threshold"`
	Span       Duration `yaml:"span"`
	Lateness   Duration `yaml:"lateness"`
	MinTokens  int      `yaml:"min_tokens"`
	MaxMatches int      `yaml:"max_matches"`   // texts that a look-up reports; 0: all
	Flood      int      `yaml:"flood_matches"` // texts that one reports that finds more; 0: max_matches
	Budget     Bytes    `yaml:"budget"`        // 0: half the memory of the machine
	Engine     string   `yaml:"engine"`
	Model      string   `yaml:"model"` // default, md5 or a file; "": see ModelName
	Bits       int      `yaml:"bits"`  // of md5
	Ones       int      `yaml:"ones"`  // of md5
	Texts      bool     `yaml:"texts"`
}

// ModelName is default, md5 or a file. Where nothing is said it is default; bits and ones of their own ask for md5.
func (w *Window) ModelName() string {
	switch {
	case w.Model != "":
		return w.Model
	case w.Bits == 64 && w.Ones == 1:
		return "default"
	}
	return "md5"
}

// Models says when codes are learned anew from the window, and how.
type Models struct {
	Every      Duration `yaml:"every"` // 0: never
	Drift      float64  `yaml:"drift"` // when false candidates are so many times those after the last change; 0: never
	Sentences  int      `yaml:"sentences"`
	Vocabulary int      `yaml:"vocabulary"`
	Workers    int      `yaml:"workers"`
}

// Topics are the embedded ones.
type Topics struct {
	Partitions    int      `yaml:"partitions"`
	SentenceBytes Bytes    `yaml:"sentence_bytes"` // full: posts are refused until records expire
	EventBytes    Bytes    `yaml:"event_bytes"`    // full: the oldest events go
	EventAge      Duration `yaml:"event_age"`      // 0: as long as sentences: span + lateness + 1 h
	Sync          bool     `yaml:"sync"`           // fsync every append: survives a power cut, at a price
}

// Ingest says where posts come from.
type Ingest struct {
	Body    Bytes         `yaml:"body"` // of one HTTP request, at most
	Kafka   []KafkaSource `yaml:"kafka"`
	NATS    []NATSSource  `yaml:"nats"`
	Files   []File        `yaml:"files"`
	Bluesky Bluesky       `yaml:"bluesky"`
}

// File is read once at start, from its beginning.
type File struct {
	Path   string `yaml:"path"`
	Format string `yaml:"format"`
	Map    string `yaml:"map"`
	Source string `yaml:"source"`
}

// Bluesky is the Jetstream firehose.
type Bluesky struct {
	Enabled bool   `yaml:"enabled"`
	URL     string `yaml:"url"` // of a Jetstream server; "": a public one
}

// Default returns the configuration without a file.
func Default() Config {
	return Config{
		DataDir: "./refrain-data", HTTP: "127.0.0.1:8080", Name: "refrain", Workers: min(2, runtime.GOMAXPROCS(0)),
		Log: Log{Level: "info", Format: "auto"},
		Window: Window{
			Threshold: "0.8", Span: Duration(24 * time.Hour), Lateness: Duration(5 * time.Minute), MinTokens: 4,
			MaxMatches: 1000, Flood: 10, Engine: "auto", Bits: 64, Ones: 1, Texts: true,
		},
		Models: Models{Every: Duration(24 * time.Hour), Drift: 2, Sentences: 100_000, Vocabulary: 10_000, Workers: 1},
		Topics: Topics{Partitions: 4, SentenceBytes: 8 << 30, EventBytes: 8 << 30},
		Ingest: Ingest{Body: 64 << 20},
		Lookup: Lookup{Store: "embedded", Redis: Redis{URL: "redis://127.0.0.1:6379/0", Prefix: "refrain:"}},
	}
}

// Load reads a file over the defaults, and the environment over both. path "" means no file.
func Load(path string, environ []string) (Config, error) {
	c := Default()
	if path != "" {
		if err := c.readFile(path); err != nil {
			return Config{}, err
		}
	}
	return c, c.readEnvironment(environ)
}

func (c *Config) readFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	err = d.Decode(c)
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("configuration %s: %s", path, plainly(wrong.Errors))
	}
	if err != nil && !errors.Is(err, io.EOF) { // an empty file is one without settings
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	var whole yaml.Node
	if err := yaml.Unmarshal(data, &whole); err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	if wrong := fractions(&whole, reflect.TypeFor[Config]()); len(wrong) > 0 {
		return fmt.Errorf("configuration %s: %s", path, strings.Join(wrong, "; "))
	}
	return nil
}

// longest is the longest span, lateness or age: a hundred years.
const longest = Duration(100 * 365 * 24 * time.Hour)

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	var v validation
	v.want(c.DataDir != "", "data_dir", "want a directory")
	v.want(c.HTTP != "", "http", "want an address such as 127.0.0.1:8080")
	v.want(c.Name != "", "name", "want a name: it is the source of the events")
	v.want(c.Workers > 0, "workers", "want 1 or more")
	v.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	v.oneOf("log.format", c.Log.Format, "auto", "text", "json")
	v.window(&c.Window)
	v.models(&c.Models)
	t := &c.Topics
	v.want(t.Partitions > 0 && t.Partitions <= 1024, "topics.partitions", "want 1 to 1024")
	v.want(t.SentenceBytes > 0, "topics.sentence_bytes", "want more than 0")
	v.want(t.EventBytes > 0, "topics.event_bytes", "want more than 0")
	v.want(t.EventAge >= 0 && t.EventAge <= longest, "topics.event_age", "want 0 to 100 years")
	v.want(c.Ingest.Body > 0, "ingest.body", "want more than 0")
	for i, f := range c.Ingest.Files {
		v.file(fmt.Sprintf("ingest.files[%d]", i), &f)
	}
	for i := range c.Ingest.Kafka {
		v.kafkaSource(fmt.Sprintf("ingest.kafka[%d]", i), &c.Ingest.Kafka[i])
	}
	for i := range c.Ingest.NATS {
		v.natsSource(fmt.Sprintf("ingest.nats[%d]", i), &c.Ingest.NATS[i])
	}
	v.sources(&c.Ingest)
	v.auth(c)
	v.publish(&c.Publish)
	v.lookup(&c.Lookup)
	return errors.Join(v...)
}

type validation []error

func (v *validation) want(ok bool, key, what string) {
	if !ok {
		*v = append(*v, fmt.Errorf("configuration: %s: %s", key, what))
	}
}

func (v *validation) oneOf(key, value string, values ...string) {
	v.want(slices.Contains(values, value), key, fmt.Sprintf("%q: want %s", value, strings.TrimPrefix(strings.Join(values, ", "), ", ")))
}

func (v *validation) models(m *Models) {
	v.want(m.Every == 0 || m.Every >= Duration(time.Second) && m.Every <= longest, "models.every", "want 0 (never), or 1 s to 100 years")
	v.want(m.Drift == 0 || m.Drift > 1, "models.drift", "want 0 (never) or more than 1: times as many false candidates")
	v.want(m.Sentences >= 5000, "models.sentences", "want 5000 or more: fewer teach nothing")
	v.want(m.Vocabulary > 0, "models.vocabulary", "want 1 or more")
	v.want(m.Workers > 0, "models.workers", "want 1 or more")
}

func (v *validation) window(w *Window) {
	_, err := text.ParseThreshold(w.Threshold)
	v.want(err == nil, "window.threshold", fmt.Sprint(err))
	v.want(w.Span > 0 && w.Span <= longest, "window.span", "want more than 0 and at most 100 years")
	v.want(w.Lateness >= 0 && w.Lateness <= longest, "window.lateness", "want 0 to 100 years")
	v.want(w.MinTokens > 0, "window.min_tokens", "want 1 or more")
	err = units.CheckBudget(int64(w.Budget))
	v.want(err == nil, "window.budget", fmt.Sprintf("%v; 0 is half the memory", err))
	v.want(w.MaxMatches >= 0, "window.max_matches", "want 0 (no limit) or more")
	v.want(w.Flood >= 0, "window.flood_matches", "want 0 (as many as max_matches) or more")
	v.oneOf("window.engine", w.Engine, "auto", "prefix", "scan", "cuda")
	v.oneOf("window.bits", strconv.Itoa(w.Bits), "32", "64", "128", "256")
	v.want(w.Ones >= 1 && w.Ones <= 8, "window.ones", "want 1 to 8")
	v.want(w.ModelName() == "md5" || w.Bits == 64 && w.Ones == 1, "window.model",
		fmt.Sprintf("%s has bits and ones of its own: leave window.bits and window.ones out, or set window.model to md5", w.Model))
}

func (v *validation) file(key string, f *File) {
	v.want(f.Path != "", key+".path", "want a path")
	v.oneOf(key+".format", f.Format, "", "jsonl", "text", "csv")
	v.mapping(key, f.Map)
}
