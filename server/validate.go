package server

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"refrain/cuda"
	"refrain/detector"
	"refrain/ingest/file"
	"refrain/internal/check"
	"refrain/internal/units"
	"refrain/models"
	"refrain/sigstore/gpu"
	"refrain/text"
)

// maxDuration is the longest span, lateness or age: a hundred years.
const maxDuration = 100 * 365 * 24 * time.Hour

// minCanaryEvery bounds what canaries cost.
const minCanaryEvery = 100 * time.Millisecond

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	var v validation
	v.want(c.DataDir != "", "data_dir", "want a directory")
	_, port, err := net.SplitHostPort(c.HTTP)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	v.want(err == nil, "http", fmt.Sprintf("%q: want HOST:PORT, such as 127.0.0.1:8080", c.HTTP))
	v.want(check.IsURIReference(c.Name), "name", fmt.Sprintf("%q: want a URI-reference, for it is the CloudEvents source of the "+
		"events: as refrain, or https://example.org/refrain, without spaces (%%20) and letters beyond ASCII", c.Name))
	v.want(c.Schemas == "" || check.IsURL(c.Schemas), "schemas",
		fmt.Sprintf("%q: want an absolute URL, as https://refrain.example.org/schemas/", c.Schemas))
	v.want(c.Workers > 0, "workers", "want 1 or more")
	v.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	v.oneOf("log.format", c.Log.Format, "auto", "text", "json")
	v.roles(c)
	v.broker(c)
	v.window(&c.Window)
	v.models(&c.Models)
	t := &c.Topics
	v.want(t.Partitions > 0 && t.Partitions <= 1024, "topics.partitions", "want 1 to 1024")
	v.want(t.SentenceBytes >= 0, "topics.sentence_bytes", "want 0 (by the disk) or more")
	v.want(t.EventBytes >= 0, "topics.event_bytes", "want 0 (by the disk) or more")
	v.want(t.ControlBytes > 0, "topics.control_bytes", "want more than 0")
	v.want(t.EventAge >= 0 && t.EventAge <= maxDuration, "topics.event_age", "want 0 to 100 years")
	v.want(c.Ingest.Body > 0, "ingest.body", "want more than 0")
	v.fields("ingest.http", &c.Ingest.HTTP.Config)
	for i, f := range c.Ingest.Files {
		v.file(fmt.Sprintf("ingest.files[%d]", i), &f)
	}
	for i := range c.Ingest.Kafka {
		v.kafkaSource(fmt.Sprintf("ingest.kafka[%d]", i), &c.Ingest.Kafka[i])
	}
	for i := range c.Ingest.NATS {
		v.natsSource(fmt.Sprintf("ingest.nats[%d]", i), &c.Ingest.NATS[i])
	}
	v.bluesky(&c.Ingest.Bluesky)
	v.want(c.Health.MaxLag >= 0 && c.Health.MaxLag <= maxDuration, "health.max_lag", "want 0 to 100 years")
	v.want(c.Canary.Every == 0 || c.Canary.Every >= minCanaryEvery && c.Canary.Every <= maxDuration, "canary.every",
		"want 0, or 100ms to 100 years")
	v.want(c.Canary.Every == 0 || c.Canary.Late > 0 && c.Canary.Late <= maxDuration, "canary.late",
		"want more than 0, and at most 100 years")
	v.sources(&c.Ingest)
	v.auth(c)
	v.quotas(c)
	v.limits(&c.Limits)
	v.publish(&c.Publish)
	v.lookup(&c.Lookup)
	v.want(c.DeadLetters.Bytes > 0, "dead_letters.bytes", "want more than 0")
	v.want(c.DeadLetters.Files >= 0, "dead_letters.files", "want 0 or more")
	return errors.Join(v...)
}

type validation []error

func (v *validation) want(ok bool, key, what string) {
	if !ok {
		v.refuse(key, what)
	}
}

func (v *validation) refuse(key, what string) {
	*v = append(*v, fmt.Errorf("configuration: %s: %s", key, what))
}

func (v *validation) oneOf(key, value string, values ...string) {
	v.want(slices.Contains(values, value), key, fmt.Sprintf("%q: want %s", value,
		strings.TrimPrefix(strings.Join(values, ", "), ", ")))
}

func (v *validation) models(m *Models) {
	v.want(m.Every == 0 || m.Every >= time.Second && m.Every <= maxDuration, "models.every",
		"want 0 (never), or 1 s to 100 years")
	v.want(m.Drift == 0 || m.Drift > 1, "models.drift", "want 0 (never) or more than 1: times as many false candidates")
	minSentences := models.Default().MinSentences
	v.want(m.Sentences >= minSentences, "models.sentences", fmt.Sprintf("want %d or more: fewer teach nothing", minSentences))
	v.want(m.Vocabulary > 0, "models.vocabulary", "want 1 or more")
	v.want(m.Workers > 0, "models.workers", "want 1 or more")
}

func (v *validation) measure(key, name string) {
	s, err := text.ParseSimilarity(name)
	if err == nil {
		err = s.Check()
	}
	v.want(err == nil, key, strings.TrimPrefix(fmt.Sprint(err), "measure "))
}

func (v *validation) window(w *Window) {
	v.measure("window.measure", w.Measure)
	_, err := text.ParseThreshold(w.Threshold)
	v.want(err == nil, "window.threshold", fmt.Sprint(err))
	v.want(w.Span > 0 && w.Span <= maxDuration, "window.span", "want more than 0 and at most 100 years")
	v.want(w.Lateness >= 0 && w.Lateness <= maxDuration, "window.lateness", "want 0 to 100 years")
	v.want(w.Redelivery >= time.Second && w.Redelivery <= maxDuration, "window.redelivery", "want 1s to 100 years")
	// topics keep the sum of all three
	v.want(w.MaxHold >= 0 && w.MaxHold <= maxDuration/2, "window.max_hold", "want 0 to 50 years")
	v.want(w.MinTokens > 0, "window.min_tokens", "want 1 or more")
	err = units.CheckBudget(int64(w.Budget))
	v.want(err == nil, "window.budget", fmt.Sprintf("%v; 0 is half the memory", err))
	v.want(w.MaxMatches >= 0, "window.max_matches", "want 0 (no limit) or more")
	v.want(w.Flood >= 0, "window.flood_matches", "want 0 (as many as max_matches) or more")
	v.oneOf("window.engine", w.Engine, detector.Engines...)
	v.cuda(w)
	v.oneOf("window.bits", strconv.Itoa(w.Bits), "32", "64", "128", "256")
	v.want(w.Ones >= 1 && w.Ones <= 8, "window.ones", "want 1 to 8")
	v.want(w.ModelName() == "md5" || w.Bits == 64 && w.Ones == 1, "window.model",
		fmt.Sprintf("%s has bits and ones of its own: leave window.bits and window.ones out, or set window.model to md5", w.Model))
}

func (v *validation) cuda(w *Window) {
	c := &w.CUDA
	_, err := gpu.ParseNumbers(c.Device)
	v.want(err == nil, "window.cuda.device", fmt.Sprint(err))
	v.want(c.Budget == 0 || c.Budget >= 64<<20, "window.cuda.budget",
		fmt.Sprintf("%d bytes: want 64MiB or more; 0 is 90 %% of what is free", c.Budget))
	v.oneOf("window.cuda.kernel", c.Kernel, append([]string{""}, cuda.KernelNames()...)...)
	v.want(*c == Default().Window.CUDA || w.Engine != "prefix" && w.Engine != "scan", "window.cuda",
		fmt.Sprintf("window.engine is %s, which takes no GPU: leave it out, or set window.engine to cuda or auto", w.Engine))
}

func (v *validation) file(key string, f *File) {
	v.want(f.Path != "", key+".path", "want a path")
	v.oneOf(key+".format", f.Format, append([]string{""}, file.Formats...)...)
	if err := file.CheckEncoding(f.Encoding); err != nil {
		v.want(false, key+".encoding", err.Error())
	}
	v.fields(key, &f.Config)
}
