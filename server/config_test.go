package server

import (
	"strings"
	"testing"

	"refrain/detector"
	"refrain/ingest/mapping"
)

// wantParts checks that an error is there and says everything a person needs.
func wantParts(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateReportsEverythingAtOnce(t *testing.T) {
	c := Config{}
	c.Window.Threshold = "1.5"
	c.Window.Lateness, c.Window.MaxMatches, c.Topics.Partitions = -1, -1, 2000
	wantParts(t, c.Validate(), "data_dir", "http", "name", "workers", "window.span", "window.lateness",
		"window.redelivery", "window.min_tokens",
		"window.max_matches", "window.threshold", "1.5", "topics.partitions", "topics", "ingest.body")
}

// TestValidateNamesTheKey: one wrong value, one complaint.
func TestValidateNamesTheKey(t *testing.T) {
	for key, spoil := range map[string]func(*Config){
		"http:": func(c *Config) { c.HTTP = "" },
		`name: "refrain prod": want a URI-reference`: func(c *Config) { c.Name = "refrain prod" },
		"auth.origins[1]:":                           func(c *Config) { c.Auth.Origins = []string{"https://app.example.org", "https://app.example.org/"} },
		"auth.origins[0]:":                           func(c *Config) { c.Auth.Origins = []string{"*"} },
		"schemas:":                                   func(c *Config) { c.Schemas = "/schemas/" },
		"workers:":                                   func(c *Config) { c.Workers = 0 },
		"window.threshold:":                          func(c *Config) { c.Window.Threshold = "high" },
		"window.measure:":                            func(c *Config) { c.Window.Measure = "overlap" },
		`window.measure: "hamming": want jaccard, cosine or dice`: func(c *Config) { c.Window.Measure = "hamming" },
		"window.measure: overlap: it is for joins":                func(c *Config) { c.Window.Measure = "overlap" },
		"window.span:":       func(c *Config) { c.Window.Span = 0 },
		"window.max_hold:":   func(c *Config) { c.Window.MaxHold = maxDuration },
		"topics.partitions:": func(c *Config) { c.Topics.Partitions = 0 },
		"topics.":            func(c *Config) { c.Topics.EventBytes = -1 },
		"ingest.body:":       func(c *Config) { c.Ingest.Body = 0 },
	} {
		c := Default()
		spoil(&c)
		err := c.Validate()
		wantParts(t, err, key)
		if n := strings.Count(err.Error(), "\n"); n != 0 {
			t.Errorf("%s: %d complaints, want one: %v", key, n+1, err)
		}
	}
}

func TestSmallBudget(t *testing.T) {
	c := Default()
	c.Window.Budget = 32
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(),
		"window.budget: 32 bytes: want 1.0 MB or more, and megabytes are written 32MB; 0 is half the memory") {
		t.Errorf("got %v", err)
	}
	for _, budget := range []Bytes{0, 1_000_000} {
		if c.Window.Budget = budget; c.Validate() != nil {
			t.Errorf("%d: %v", budget, c.Validate())
		}
	}
}

// TestGPUsOfEngines: what is said of GPUs is for the engines that take some.
func TestGPUsOfEngines(t *testing.T) {
	for _, engine := range detector.Engines {
		c := Default()
		if c.Window.Engine = engine; c.Validate() != nil {
			t.Errorf("%s: %v", engine, c.Validate())
		}
		for _, said := range []CUDA{{Device: "0"}, {Device: "all", Budget: 1e9}, {Device: "all", Kernel: "imma"}} {
			c.Window.CUDA = said
			err := c.Validate()
			if takes := engine == "cuda" || engine == "auto"; takes != (err == nil) {
				t.Errorf("%s, %+v: %v", engine, said, err)
			}
			if err != nil && !strings.Contains(err.Error(), "configuration: window.cuda: window.engine is "+engine) {
				t.Errorf("%s: %v", engine, err)
			}
		}
	}
}

func TestValidateTellsEverything(t *testing.T) {
	c := Default()
	c.Window.Engine, c.Window.Bits, c.Window.Ones, c.Log.Level, c.Log.Format = "gpu", 100, 0, "loud", "xml"
	c.Window.Budget = -1
	c.Window.CUDA = CUDA{Device: "first", Budget: 12, Kernel: "tensor"}
	c.Window.Span, c.Ingest.Files = 1<<62, []File{{Format: "xls", Config: mapping.Config{Map: "txt=body"}}}
	c.Ingest.HTTP.Keep = []string{"text"}
	c.Ingest.Kafka = []KafkaSource{{Config: mapping.Config{Link: "ftp://{id}"}}}
	c.Ingest.NATS = []NATSSource{
		{
			NATSServer: NATSServer{Servers: []string{"foo://127.0.0.1:4222"}},
			Config:     mapping.Config{Link: "https://example.org/{followers}"},
		},
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, key := range []string{"window.cuda.device", "window.cuda.budget", "window.cuda.kernel", "window.engine",
		"window.bits", "window.ones", "window.budget", "log.level",
		"log.format", "window.span",
		"ingest.files[0].path", "ingest.files[0].format", "ingest.files[0].map", "ingest.http.keep", "ingest.kafka[0].link",
		"ingest.nats[0].servers", "ingest.nats[0].link"} {
		if !strings.Contains(err.Error(), key+":") {
			t.Errorf("%q does not name %s", err, key)
		}
	}
}

// TestTokensDiffer: two tokens with one secret are one, and nobody can tell who asks. The secret is not printed.
func TestTokensDiffer(t *testing.T) {
	const secret = "the-one-secret-of-both"
	c := Default()
	c.Auth.Tokens = []Token{
		{Name: "a", Token: secret, Scopes: []string{"read"}},
		{Name: "b", Token: "another-secret-of-its-own", Scopes: []string{"read"}},
		{Name: "c", Token: secret, Scopes: []string{"admin"}},
	}
	err := c.Validate()
	wantParts(t, err, "auth.tokens[2].token", "auth.tokens[0]")
	if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "tokens[1]") {
		t.Errorf("the error has the secret, or blames another: %v", err)
	}
}
