// Package rules says which package may import which, for the test beside it.
package rules

// row is one line of the table of packages: a folder with all below it that has no row of its own.
type row struct {
	folder  string
	imports []string // rows that it may import; internal packages may be imported by all
	clients bool     // it may talk to the network through a client library
	why     string   // of a row that imports more than one would expect
}

// public are the packages that a program may rely on: docs/ARCHITECTURE.md says for what.
var public = []string{"feed", "text", "hashcodes", "detector", "topic", "server", "join", "join/edit"}

// Names for more than one row.
const everything = "*" // but what is apart

// apart are the rows that a row has to name: the programs, and what measures them.
var apart = []string{"cmd", "lab", "cmd/refrain-lab"}

var (
	codes  = []string{"hashcodes", "hashcodes/train", "hashcodes/project", "hashcodes/hamming"}
	window = []string{"feed", "hashcodes", "hashcodes/hamming"}
	engine = []string{"feed", "hashcodes", "hashcodes/hamming", "sigstore"}
	source = []string{"feed", "ingest"}
)

// table is in the order of the arrows: a package imports from rows above it. Where a new package belongs, its
// folder gets a row here, with what it may import and no more.
var table = []row{
	{folder: "feed"},
	{folder: "text", imports: []string{"feed"}},
	{folder: "hashcodes", imports: []string{"feed", "text"}},
	{folder: "hashcodes/hamming"},
	{folder: "hashcodes/train", imports: []string{"hashcodes", "hashcodes/hamming", "text"}},
	{folder: "hashcodes/project", imports: []string{"hashcodes", "text"}},
	{folder: "sigstore", imports: window},
	{folder: "sigstore/prefix", imports: engine, why: "the engines implement what sigstore declares"},
	{folder: "sigstore/scan", imports: engine},
	{folder: "cuda/driver"},
	{folder: "cuda", imports: []string{"hashcodes/hamming", "cuda/driver"}},
	{folder: "sigstore/gpu", imports: append([]string{"cuda"}, engine...)},
	{folder: "sigstore/auto", imports: append([]string{"text", "sigstore/prefix", "sigstore/scan"}, engine...),
		why: "text, for the threshold of the trial that calibrates"},
	{folder: "detector", imports: []string{"feed", "text", "hashcodes", "sigstore", "sigstore/prefix", "sigstore/scan",
		"sigstore/gpu", "sigstore/auto"}},
	{folder: "models", imports: []string{"text", "hashcodes", "hashcodes/train", "sigstore"}},
	{folder: "topic", imports: []string{"feed"}},
	{folder: "topic/lines", imports: []string{"topic"}},
	{folder: "internal/kafkaconn", clients: true, why: "what topic/kafka, ingest/kafka and publish/kafka know of connections"},
	{folder: "internal/natsconn", clients: true, why: "what topic/jetstream, ingest/nats and publish/nats know of connections"},
	{folder: "topic/kafka", imports: []string{"feed", "topic", "internal/kafkaconn"}, clients: true},
	{folder: "topic/jetstream", imports: []string{"feed", "topic", "internal/natsconn"}, clients: true},
	{folder: "ingest", imports: []string{"feed"}},
	{folder: "ingest/file", imports: source},
	{folder: "ingest/mapping", imports: append([]string{"ingest/file"}, source...),
		why: "ingest/file, since a preset knows where the posts of a file are"},
	{folder: "ingest/http", imports: source, why: "no client: others come to it"},
	{folder: "ingest/bluesky", imports: source, clients: true},
	{folder: "ingest/kafka", imports: append([]string{"internal/kafkaconn"}, source...), clients: true},
	{folder: "ingest/nats", imports: append([]string{"internal/natsconn"}, source...), clients: true},
	{folder: "split", imports: []string{"feed", "text", "topic"}},
	{folder: "shard", imports: []string{"feed", "text", "sigstore", "detector", "topic"}},
	{folder: "publish", imports: []string{"feed", "topic", "text", "internal/kafkaconn", "internal/natsconn"}, clients: true,
		why: "text, for the threshold that a webhook may ask for"},
	{folder: "lookup", imports: []string{"feed", "topic"}, clients: true},
	{folder: "api", imports: []string{"feed", "text", "hashcodes", "models", "topic", "publish", "lookup"},
		why: "text and hashcodes, through internal/explain, whose Explanation is an answer; models, whose Status is " +
			"one: a copy would be the " +
			"same sixteen fields; topic, whose latest events are on the page"},
	{folder: "join", imports: append([]string{"text", "sigstore/prefix"}, codes...)},
	{folder: "backfill", imports: []string{"feed", "text", "ingest", "ingest/file", "hashcodes", "detector"},
		why: "text, to split; hashcodes, for the name of the window's model"},
	{folder: "plan", imports: []string{"feed", "hashcodes", "text"}},
	{folder: "demo", imports: []string{"feed", "hashcodes"}},
	{folder: "server", imports: []string{everything}},
	{folder: "deploy", imports: []string{everything}, clients: true},
	{folder: "cmd", imports: []string{everything}, clients: true},
	{folder: "lab", imports: []string{everything}, clients: true},
	{folder: "cmd/refrain-lab", imports: []string{everything, "lab"}},
	{folder: "internal/devservers", clients: true, why: "for tests only: it makes topics on the servers that it hands out"},
	{folder: "internal", imports: []string{everything},
		why: "whoever imports an internal package answers for what that package imports"},
}

// clients are the modules that talk to brokers, stores and firehoses.
var clients = []string{
	"github.com/coder/websocket",
	"github.com/nats-io/nats-server",
	"github.com/nats-io/nats.go",
	"github.com/redis/go-redis",
	"github.com/segmentio/kafka-go",
}
