package tables

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"refrain/internal/oracle"
	"refrain/lab/report"
	"refrain/plan"
)

// ClusterOptions are what Cluster asks besides.
type ClusterOptions struct {
	Posts      int
	Partitions int           // of the window, in every deployment
	Brokers    []string      // kafka, nats
	Workers    []int         // processes for look-ups, beside one for split and one for the rest; 0: one process for everything
	Idle       time.Duration // how long requests are counted when nothing comes any more
}

// DefaultCluster is the table's.
func DefaultCluster() ClusterOptions {
	return ClusterOptions{Posts: 60_000, Partitions: 4, Brokers: []string{"kafka", "nats"}, Workers: []int{0, 1, 2, 4}, Idle: 3 * time.Second}
}

// QuickCluster is a quick run's.
func QuickCluster() ClusterOptions {
	return ClusterOptions{Posts: 1000, Partitions: 4, Brokers: []string{"kafka"}, Workers: []int{0, 2}, Idle: time.Second}
}

func (o *ClusterOptions) validate() error {
	for _, b := range o.Brokers {
		if b != "kafka" && b != "nats" {
			return optionError("brokers: %q, want kafka or nats", b)
		}
	}
	for _, n := range o.Workers {
		if n < 0 || n > o.Partitions {
			return optionError("workers: %d, want 0 to %d, the partitions", n, o.Partitions)
		}
	}
	return errors.Join(wantPositive("posts", o.Posts), wantPositive("partitions", o.Partitions), wantPositive("idle", o.Idle),
		wantSome("brokers", o.Brokers))
}

// ClusterFigure is a deployment that gets posts as fast as it takes them.
type ClusterFigure struct {
	Broker    string             `json:"broker"`    // kafka, nats, or embedded
	Workers   int                `json:"workers"`   // processes for look-ups; 0: one process for everything
	Accepted  float64            `json:"accepted"`  // posts a second, until the last is durable
	PerSecond float64            `json:"perSecond"` // posts, until the last event is at a client
	Ratio     float64            `json:"ratio"`     // of that, to the embedded one of the same round
	CPU       map[string]float64 `json:"cpu"`       // µs a post: split, match (a process), rest, broker; all together for one process
	AllCPU    float64            `json:"allCPU"`    // µs a post, of all processes and the broker
	Memory    map[string]int64   `json:"memory"`    // bytes, greatest RSS, likewise
	Sent      float64            `json:"sent"`      // bytes a post, from all processes to the broker
	Received  float64            `json:"received"`
	Busy      map[string]float64 `json:"busy"`    // requests a second by what they ask
	Idle      map[string]float64 `json:"idle"`    // the same when nothing comes
	IdleCPU   map[string]float64 `json:"idleCPU"` // share of a core then, as CPU
	Events    int                `json:"events"`
	Repeated  int                `json:"repeated"` // events that were written again, under the same id
	Planned   plan.PostMicros    `json:"planned"`  // what package plan reckons
}

// clusterBench is one run of the table.
type clusterBench struct {
	*Config
	options ClusterOptions
	posts   []byte          // lines
	found   DetectFigure    // what detect says of them
	want    map[string]bool // ids of the events that detect finds
	brokers map[string]*devBroker
	topics  int // so many names were used
}

// Cluster measures what it costs to spread the route over processes that share the topics of a broker.
func Cluster(ctx context.Context, c *Config, o ClusterOptions) (*report.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	file, err := c.file(size(c, Ira, smallFile))
	if err != nil {
		return nil, err
	}
	b := &clusterBench{Config: c, options: o, brokers: map[string]*devBroker{}}
	if err := b.detect(ctx, file); err != nil {
		return nil, err
	}
	defer b.endBrokers()
	for _, kind := range o.Brokers {
		c.status("cluster: starting %s", kind)
		if b.brokers[kind], err = startBroker(ctx, kind); err != nil {
			return nil, err
		}
		if err := b.run(ctx, &ClusterFigure{Broker: kind}, false); err != nil {
			return nil, fmt.Errorf("warm %s up: %w", kind, err)
		}
	}
	figures, err := b.rounds(ctx)
	if err != nil {
		return nil, err
	}
	return b.report(file, figures), nil
}

func (b *clusterBench) endBrokers() {
	for _, broker := range b.brokers {
		broker.end()
	}
}

// detect reads the posts, and what there is to find in them.
func (b *clusterBench) detect(ctx context.Context, file string) error {
	b.status("cluster: reading %s", filepath.Base(file))
	var err error
	if b.posts, err = firstLines(file, b.options.Posts); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "refrain-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "posts.jsonl")
	if err := os.WriteFile(path, b.posts, 0o600); err != nil {
		return err
	}
	found, err := os.Create(filepath.Join(folder, "events.jsonl"))
	if err != nil {
		return err
	}
	defer found.Close()
	p, err := start(ctx, found, b.Refrain, "detect", path)
	if err == nil {
		err = p.wait()
	}
	if err == nil {
		err = b.found.read(p.stderr.String())
	}
	if err != nil {
		return err
	}
	if _, err := found.Seek(0, io.SeekStart); err != nil {
		return err
	}
	b.want = map[string]bool{}
	return eachID(found, func(id string) bool { b.want[id] = true; return true })
}

// shapes are what is measured, in the order of a round.
func (b *clusterBench) shapes() []ClusterFigure {
	all := []ClusterFigure{{Broker: embedded}}
	for _, kind := range b.options.Brokers {
		for _, n := range b.options.Workers {
			all = append(all, ClusterFigure{Broker: kind, Workers: n})
		}
	}
	return all
}

const embedded = "embedded"

// rounds measures all deployments in turns, and returns the median of each.
func (b *clusterBench) rounds(ctx context.Context) ([]ClusterFigure, error) {
	runs := make([][]ClusterFigure, len(b.shapes()))
	for round := range b.Runs {
		for i, f := range b.shapes() {
			b.status("cluster: round %d of %d, %s", round+1, b.Runs, f.name())
			if err := b.run(ctx, &f, round == 0); err != nil {
				return nil, errors.Join(interrupted(ctx), fmt.Errorf("%s: %w", f.name(), err))
			}
			if i > 0 {
				f.Ratio = f.PerSecond / runs[0][round].PerSecond
			} else {
				f.Ratio = 1
			}
			b.step("cluster: %s: %.0f posts/s, %.2f of the embedded one, %.0f µs a post, %d events, %d repeated", f.name(), f.PerSecond,
				f.Ratio, f.AllCPU, f.Events, f.Repeated)
			runs[i] = append(runs[i], f)
		}
	}
	var all []ClusterFigure
	for _, of := range runs {
		f := medianCluster(of)
		f.Planned = planned(&b.found, b.options.Partitions, f.Broker, f.Workers)
		all = append(all, f)
	}
	return all, nil
}

func (f *ClusterFigure) name() string {
	switch {
	case f.Broker == embedded:
		return "one process, embedded topics"
	case f.Workers == 0:
		return f.Broker + ", one process"
	}
	return fmt.Sprintf("%s, %d match", f.Broker, f.Workers)
}

// run measures one deployment once.
func (b *clusterBench) run(ctx context.Context, f *ClusterFigure, idle bool) (err error) {
	broker := b.brokers[f.Broker]
	d, err := b.deploy(ctx, broker, f.Workers, b.options.Partitions, b.config(broker, f.Workers))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.end()) }()
	before, err := d.usage(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	through := make(chan error, 1)
	stream, err := d.events(ctx, "")
	if err != nil {
		return err
	}
	defer stream.Close()
	go func() { through <- b.awaitAll(stream) }()
	if err := d.post(ctx, b.posts); err != nil {
		return err
	}
	accepted := time.Since(begin)
	select {
	case err = <-through:
	case <-time.After(maxWait):
		err = fmt.Errorf("not all events have come within %v", maxWait)
	}
	if err != nil {
		return err
	}
	after, err := d.usage(ctx)
	if err != nil {
		return err
	}
	f.recordUsage(d, after.since(before), after.at.Sub(begin), accepted, bytes.Count(b.posts, []byte("\n")))
	if err := b.check(ctx, d, f); err != nil || !idle {
		return err
	}
	return f.recordIdle(ctx, d, b.options.Idle)
}

// maxWait is how long the events are waited for when all posts are in.
const maxWait = 3 * time.Minute

// config is that of every process of a deployment: a worker for each core that is there for a process. Its posts are from
// years, and their sources never hold each other up.
func (b *clusterBench) config(broker *devBroker, processes int) string {
	b.topics++
	topics := fmt.Sprintf("partitions: %d", b.options.Partitions)
	if broker != nil {
		topics += fmt.Sprintf(", name: bench-%d-%d, %s", os.Getpid(), b.topics, broker.yaml())
	}
	return fmt.Sprintf("workers: %d\nwindow: {max_hold: 2000d}\nlookup: {store: none}\ntopics: {%s}\n", threads(processes), topics)
}

// threads are the match workers of each of so many processes for look-ups: as many as it has cores to itself.
func threads(processes int) int { return max(1, benchCores/max(1, processes)) }

// benchCores are those that the table is for.
const benchCores = 2

// planned is what package plan reckons for a deployment that gets posts of which detect says so.
func planned(found *DetectFigure, partitions int, broker string, workers int) plan.PostMicros {
	f := plan.DefaultFeed()
	f.SentencesPerPost = float64(found.Sentences) / float64(found.Posts)
	f.EventsPerSentence = float64(found.Events) / float64(found.Sentences)
	if broker == embedded {
		broker = ""
	}
	return plan.DefaultCosts().PostMicros(f, plan.Deployment{Broker: broker, Workers: workers, Threads: threads(workers),
		Partitions: partitions, Rows: float64(found.Distinct)})
}

// awaitAll returns when every event that is to be found has come.
func (b *clusterBench) awaitAll(stream io.Reader) error {
	missing := len(b.want)
	observed := make(map[string]bool, missing)
	err := eachID(stream, func(id string) bool {
		if b.want[id] && !observed[id] {
			observed[id] = true
			missing--
		}
		return missing > 0
	})
	if err == nil && missing > 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// check compares the events of a deployment with those that detect finds.
func (b *clusterBench) check(ctx context.Context, d *deployment, f *ClusterFigure) error {
	stream, err := d.events(ctx, "&until=now")
	if err != nil {
		return err
	}
	defer stream.Close()
	got := map[string]bool{}
	extra := 0
	err = eachID(stream, func(id string) bool {
		if got[id] {
			f.Repeated++
		} else if !b.want[id] {
			extra++
		}
		got[id] = true
		return true
	})
	f.Events = len(got)
	if err == nil && (extra > 0 || len(got) != len(b.want)) {
		err = fmt.Errorf("%d events, %d of them false, and detect finds %d", len(got), extra, len(b.want))
	}
	return err
}

// role is what a figure calls a process.
func role(name string) string {
	name, _, _ = strings.Cut(name, "-")
	return name
}

// recordUsage takes down what a deployment took until all events were there.
func (f *ClusterFigure) recordUsage(d *deployment, u *usage, took, accepted time.Duration, posts int) {
	n := float64(posts)
	f.PerSecond, f.Accepted = n/took.Seconds(), n/accepted.Seconds()
	f.CPU, f.Memory, f.Busy = map[string]float64{}, map[string]int64{}, map[string]float64{}
	for name, t := range u.cpu {
		each := float64(t) / 1e3 / n
		f.AllCPU += each
		if role(name) == "match" {
			each /= float64(f.Workers)
		}
		f.CPU[role(name)] += each
	}
	for _, p := range d.processes {
		f.Memory[role(p.name)] = max(f.Memory[role(p.name)], inStatus(p.cmd.Process.Pid, "VmHWM"))
	}
	if d.broker != nil {
		f.Memory["broker"] = inStatus(d.broker.pid, "VmRSS") // its greatest is of an earlier deployment
	}
	f.Sent, f.Received = u.wire["sent"]/n, u.wire["received"]/n
	for name, count := range u.requests {
		f.Busy[name] = count / took.Seconds()
	}
}

// recordIdle counts the requests when nothing comes. Those of the first second belong to what came before.
func (f *ClusterFigure) recordIdle(ctx context.Context, d *deployment, lasting time.Duration) error {
	if d.broker == nil {
		return nil
	}
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	before, err := d.usage(ctx)
	if err != nil {
		return err
	}
	if err := sleep(ctx, lasting); err != nil {
		return err
	}
	after, err := d.usage(ctx)
	if err != nil {
		return err
	}
	f.Idle, f.IdleCPU = map[string]float64{}, map[string]float64{}
	took, used := after.at.Sub(before.at).Seconds(), after.since(before)
	for name, count := range used.requests {
		f.Idle[name] = count / took
	}
	for name, t := range used.cpu {
		f.IdleCPU[role(name)] += t.Seconds() / took
	}
	return nil
}

// sleep lets time pass that is a part of what is measured.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return interrupted(ctx)
	case <-time.After(d):
		return nil
	}
}

// medianCluster is the median of each figure; what was counted once is the first's.
func medianCluster(runs []ClusterFigure) ClusterFigure {
	f := runs[0]
	of := func(get func(*ClusterFigure) float64) float64 {
		var values []float64
		for i := range runs {
			values = append(values, get(&runs[i]))
		}
		return median(values)
	}
	f.Accepted = of(func(f *ClusterFigure) float64 { return f.Accepted })
	f.PerSecond = of(func(f *ClusterFigure) float64 { return f.PerSecond })
	f.Ratio = of(func(f *ClusterFigure) float64 { return f.Ratio })
	f.AllCPU = of(func(f *ClusterFigure) float64 { return f.AllCPU })
	f.Sent = of(func(f *ClusterFigure) float64 { return f.Sent })
	f.Received = of(func(f *ClusterFigure) float64 { return f.Received })
	for name := range f.CPU {
		f.CPU[name] = of(func(f *ClusterFigure) float64 { return f.CPU[name] })
	}
	for name := range f.Busy {
		f.Busy[name] = of(func(f *ClusterFigure) float64 { return f.Busy[name] })
	}
	for _, r := range runs {
		f.Repeated = max(f.Repeated, r.Repeated)
		for name, bytes := range r.Memory {
			f.Memory[name] = max(f.Memory[name], bytes)
		}
	}
	return f
}

// firstLines are the first posts of a file.
func firstLines(path string, n int) ([]byte, error) {
	f, err := oracle.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var out bytes.Buffer
	for range n {
		line, err := in.ReadBytes('\n')
		out.Write(line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
