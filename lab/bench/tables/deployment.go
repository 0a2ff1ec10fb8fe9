package tables

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// deployment is some processes that share topics, or one that has its own.
type deployment struct {
	folder     string
	broker     *devBroker // nil: the embedded topics
	partitions int        // of the window
	processes  []*process
	client     http.Client
	refused    atomic.Int64 // requests that were answered 429
}

// process is a running `refrain serve`.
type process struct {
	*child
	name, roles, address string
}

// maxConnections are those of the client to one process: what is due later waits for them.
const maxConnections = 64

// allRoles is one process for everything.
const allRoles = "split,match,publish,lookup,api"

// deploy starts so many processes for look-ups, one that takes posts in and one for the rest, or a single one for 0 workers,
// and waits until all are ready.
func (c *Config) deploy(ctx context.Context, b *devBroker, workers, partitions int, config string) (d *deployment, err error) {
	d = &deployment{broker: b, partitions: partitions}
	d.client.Transport = &http.Transport{MaxConnsPerHost: maxConnections, MaxIdleConnsPerHost: maxConnections}
	if d.folder, err = os.MkdirTemp("", "refrain-bench-"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(d.folder, "refrain.yaml"), []byte(config), 0o600); err != nil {
		return nil, errors.Join(err, d.end())
	}
	names := [][2]string{{"all", allRoles}}
	if workers > 0 {
		names = [][2]string{{"split", "split"}, {"rest", "publish,lookup,api"}}
	}
	for i := range workers {
		names = append(names, [2]string{fmt.Sprintf("match-%d", i+1), "match"})
	}
	for _, n := range names {
		if err := d.start(ctx, c.Refrain, n[0], n[1]); err != nil {
			return nil, errors.Join(err, d.end())
		}
	}
	if err := d.ready(ctx, workers); err != nil {
		return nil, errors.Join(err, d.end())
	}
	return d, nil
}

// ready waits until all processes are, and each for look-ups has its share of the partitions: the first to come had all.
func (d *deployment) ready(ctx context.Context, workers int) error {
	for _, p := range d.processes {
		if err := (&load{address: p.address}).ready(ctx, p.child); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for begin := time.Now(); workers > 1; {
		dealt, err := d.isBalanced(ctx)
		if dealt || err != nil {
			return err
		}
		if time.Since(begin) > maxWait {
			return fmt.Errorf("the partitions are not dealt out to all after %v", maxWait)
		}
		if err := sleep(ctx, every); err != nil {
			return err
		}
	}
	return nil
}

// isBalanced reports whether those that serve partitions differ by one at most, and all are served.
func (d *deployment) isBalanced(ctx context.Context) (bool, error) {
	least, most, sum := math.MaxInt, 0, 0
	for _, p := range d.processes {
		if p.roles != "match" {
			continue
		}
		body, err := d.get(ctx, "http://"+p.address+"/metrics")
		if err != nil {
			return false, err
		}
		n := int(parseMetrics(body)["refrain_shard_partitions"])
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	return sum == d.partitions && most-least <= 1, nil
}

// parseMetrics are the values of a page of metrics.
func parseMetrics(page []byte) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(string(page)) {
		i := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		if i < 0 || line[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64); err == nil {
			all[line[:i]] = v
		}
	}
	return all
}

func (d *deployment) start(ctx context.Context, binary, name, roles string) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	p, err := start(ctx, nil, binary, "serve", "--config", filepath.Join(d.folder, "refrain.yaml"), "--data",
		filepath.Join(d.folder, name), "--http", address, "--roles", roles, "--worker", name)
	if err != nil {
		return err
	}
	d.processes = append(d.processes, &process{p, name, roles, address})
	return nil
}

// withRole is a process that has a role.
func (d *deployment) withRole(role string) *process {
	i := slices.IndexFunc(d.processes, func(p *process) bool { return strings.Contains(p.roles, role) })
	return d.processes[i]
}

// end stops all processes, and removes what they kept. Their last words are an error where one has not ended in good order.
func (d *deployment) end() error {
	d.client.CloseIdleConnections()
	for _, p := range d.processes {
		_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
	}
	var errs []error
	for _, p := range d.processes {
		errs = append(errs, p.wait())
	}
	return errors.Join(append(errs, os.RemoveAll(d.folder))...)
}

// maxBody is what one request sends; the service takes no more than twice as much.
const maxBody = 32 << 20

// post sends posts, and returns when they are durable.
func (d *deployment) post(ctx context.Context, lines []byte) error {
	for len(lines) > maxBody {
		cut := bytes.LastIndexByte(lines[:maxBody], '\n') + 1
		if err := d.postOne(ctx, lines[:cut]); err != nil {
			return err
		}
		lines = lines[cut:]
	}
	return d.postOne(ctx, lines)
}

// postOne sends a body, and what was refused of it once more: the queue was full for longer than the service waits.
func (d *deployment) postOne(ctx context.Context, lines []byte) error {
	for {
		next, err := d.postOnce(ctx, bytes.NewReader(lines))
		if err != nil || next == 0 {
			return err
		}
		d.refused.Add(1)
		for range next - 1 {
			lines = lines[bytes.IndexByte(lines, '\n')+1:]
		}
	}
}

// postOnce sends a body. next is the line to go on with, from 1; 0: all of it is durable.
func (d *deployment) postOnce(ctx context.Context, body io.Reader) (next int, err error) {
	status, answer, err := postLines(ctx, &d.client, "http://"+d.withRole("split").address+"/v1/posts", body)
	switch {
	case err != nil:
		return 0, err
	case status == http.StatusOK:
		return 0, nil
	case status == http.StatusTooManyRequests:
		var refused struct{ Next int }
		err := json.Unmarshal(answer, &refused)
		return refused.Next, err
	}
	return 0, postError(status, answer)
}

// events opens a stream of events from the oldest on, one a line.
func (d *deployment) events(ctx context.Context, query string) (io.ReadCloser, error) {
	return openURL(ctx, &d.client, "http://"+d.withRole("api").address+"/v1/events?from=start&format=ndjson"+query)
}

// eachID calls f with the id of every event of a stream, until it returns false.
func eachID(stream io.Reader, f func(id string) bool) error {
	in := bufio.NewScanner(stream)
	in.Buffer(nil, 16<<20)
	for in.Scan() && in.Err() == nil { // with an error comes a part of a line
		if len(in.Bytes()) == 0 {
			continue
		}
		id, ok := eventID(in.Bytes())
		if !ok {
			return fmt.Errorf("an event without an id: %.400s", in.Bytes())
		}
		if !f(id) {
			return nil
		}
	}
	return in.Err()
}

// eventID is the id of an event, which stands near its beginning.
func eventID(event []byte) (string, bool) {
	_, rest, ok := bytes.Cut(event[:min(len(event), 400)], []byte(`"id":"`))
	id, _, closed := bytes.Cut(rest, []byte(`"`))
	return string(id), ok && closed
}

// usage is what a deployment has taken so far.
type usage struct {
	at       time.Time
	cpu      map[string]time.Duration // by process, and the broker
	wire     map[string]float64       // bytes sent and received by the processes, to and from the broker
	requests map[string]float64       // by what they ask; of NATS all messages together
}

// usage looks at all processes and at the broker.
func (d *deployment) usage(ctx context.Context) (*usage, error) {
	u := &usage{at: time.Now(), cpu: map[string]time.Duration{}, wire: map[string]float64{}, requests: map[string]float64{}}
	for _, p := range d.processes {
		u.cpu[p.name] = processorTime(p.cmd.Process.Pid)
		if err := d.traffic(ctx, p, u); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if d.broker == nil {
		return u, nil
	}
	u.cpu["broker"] = processorTime(d.broker.pid)
	return u, d.messages(ctx, u)
}

// traffic adds what a process says of its connections to the broker.
func (d *deployment) traffic(ctx context.Context, p *process, u *usage) error {
	body, err := d.get(ctx, "http://"+p.address+"/metrics")
	if err != nil {
		return err
	}
	if d.broker == nil {
		return nil
	}
	for name, v := range parseMetrics(body) {
		name, ok := strings.CutPrefix(name, "refrain_"+d.broker.kind+"_")
		switch {
		case !ok:
		case strings.HasPrefix(name, "sent_bytes_total"):
			u.wire["sent"] += v
		case strings.HasPrefix(name, "received_bytes_total"):
			u.wire["received"] += v
		case strings.HasPrefix(name, "requests_total"):
			u.requests[label(name, "request")] += v
		}
	}
	return nil
}

// label is the value of a label of a series.
func label(series, name string) string {
	_, rest, _ := strings.Cut(series, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// messages asks a NATS server what it was sent: everything that is asked of it is a message.
func (d *deployment) messages(ctx context.Context, u *usage) error {
	if d.broker.kind != "nats" {
		return nil
	}
	addr, err := os.ReadFile(filepath.Join(d.broker.folder, "nats-http.addr"))
	if err != nil {
		return err
	}
	body, err := d.get(ctx, "http://"+strings.TrimSpace(string(addr))+"/varz")
	if err != nil {
		return err
	}
	var server struct {
		In float64 `json:"in_msgs"`
	}
	if err := json.Unmarshal(body, &server); err != nil {
		return fmt.Errorf("varz of the NATS server: %w", err)
	}
	u.requests["messages"] = server.In
	return nil
}

func (d *deployment) get(ctx context.Context, url string) ([]byte, error) {
	body, err := openURL(ctx, &d.client, url)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// since is what was taken between two looks.
func (u *usage) since(before *usage) *usage {
	out := &usage{cpu: map[string]time.Duration{}, wire: map[string]float64{}, requests: map[string]float64{}}
	for name := range u.cpu {
		out.cpu[name] = u.cpu[name] - before.cpu[name]
	}
	for name := range u.wire {
		out.wire[name] = u.wire[name] - before.wire[name]
	}
	for name := range u.requests {
		out.requests[name] = u.requests[name] - before.requests[name]
	}
	return out
}

// processorTime is what a process that runs has had of all processors; 0 where the system does not tell.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system, tick = 11, 12, time.Second / 100 // places behind the name; the kernel's unit for programs
	if len(fields) <= system {
		return 0
	}
	var sum time.Duration
	for _, f := range []string{fields[user], fields[system]} {
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += time.Duration(n) * tick
	}
	return sum
}
