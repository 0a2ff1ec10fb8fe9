package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"

	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/oracle"
)

// process is `refrain serve` as a process of its own.
type process struct {
	tb      testing.TB
	dir     string
	address string
	args    []string
	log     lockedBuffer
	cmd     *exec.Cmd
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newProcess(tb testing.TB, args ...string) *process {
	p := &process{tb: tb, dir: tb.TempDir(), address: freeAddress(tb), args: args}
	tb.Cleanup(func() {
		if p.cmd != nil {
			p.kill(syscall.SIGKILL)
		}
		if tb.Failed() {
			tb.Logf("log of the server:\n%s", p.log.String())
		}
	})
	return p
}

// freeAddress looks below the ports that outgoing connections take: none of those may take it before it is used.
func freeAddress(tb testing.TB) string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))
		if l, err := net.Listen("tcp", address); err == nil {
			defer l.Close()
			return address
		}
		if tb.Context().Err() != nil {
			tb.Fatal("no free port")
		}
	}
}

// start returns when the server is ready.
func (p *process) start() {
	p.tb.Helper()
	p.cmd = exec.Command(os.Args[0], append([]string{"serve", "--data", p.dir, "--http", p.address}, p.args...)...)
	p.cmd.Env = append(os.Environ(), runMain+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
	p.await(30*time.Second, "readiness", func() bool {
		resp, err := http.Get(p.url("/readyz"))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// await polls a condition that another process brings about.
func (p *process) await(limit time.Duration, what string, ok func() bool) {
	p.tb.Helper()
	for begin := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > limit {
			p.tb.Fatalf("no %s in %v; log:\n%s", what, limit, p.log.String())
		}
	}
}

func (p *process) url(path string) string { return "http://" + p.address + path }

// kill sends a signal and waits for the end.
func (p *process) kill(s syscall.Signal) error {
	_ = p.cmd.Process.Signal(s) // it may have ended by itself
	err := p.cmd.Wait()
	p.cmd = nil
	return err
}

// posted is the answer to POST /v1/posts.
type posted struct {
	Accepted, Rejected int
	Results            []struct {
		Line               int
		ID, Status, Reason string
	}
}

func (p *process) post(lines [][]byte) (posted, error) {
	var a posted
	resp, err := http.Post(p.url("/v1/posts"), "application/x-ndjson", bytes.NewReader(bytes.Join(lines, nil)))
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("%s: %s", resp.Status, body)
	}
	return a, json.Unmarshal(body, &a)
}

// feed sends posts in order, each batch again until it is acknowledged, while the server may come and go.
func (p *process) feed(lines [][]byte, batch int, progress func(sent int)) {
	p.tb.Helper()
	sent := 0
	for some := range slices.Chunk(lines, batch) {
		p.await(time.Minute, "answer to a batch", func() bool {
			a, err := p.post(some)
			return err == nil && a.Accepted+a.Rejected == len(some)
		})
		sent += len(some)
		progress(sent)
	}
}

// events are the ids of all events once everything accepted is through the route.
func (p *process) events() []feed.Hash {
	p.tb.Helper()
	resp, err := http.Get(p.url("/v1/events?from=start&until=now"))
	if err != nil {
		p.tb.Fatal(err)
	}
	defer resp.Body.Close()
	var ids []feed.Hash
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		if !ok || !strings.Contains(data, feed.ReuseType) {
			continue
		}
		m, err := feed.DecodeEvent([]byte(data))
		if err != nil {
			p.tb.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	if in.Err() != nil {
		p.tb.Fatal(in.Err())
	}
	return oracle.Sorted(ids)
}

// retractions are the events that say that a post was deleted.
func (p *process) retractions() int {
	p.tb.Helper()
	resp, err := http.Get(p.url("/v1/events?from=start&until=now"))
	if err != nil {
		p.tb.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		p.tb.Fatal(err)
	}
	return bytes.Count(all, []byte("event: dev.refrain.retracted.v1"))
}

// counters reads the metrics whose names begin with refrain_ and sums each over its labels but result.
func (p *process) counters() map[string]float64 {
	p.tb.Helper()
	sums, err := p.tryCounters()
	if err != nil {
		p.tb.Fatal(err)
	}
	return sums
}

var (
	metricLine  = regexp.MustCompile(`^(refrain_\w+?)(?:\{(.*)\})? (\S+)$`)
	resultLabel = regexp.MustCompile(`result="(\w+)"`)
)

func (p *process) tryCounters() (map[string]float64, error) {
	resp, err := http.Get(p.url("/metrics"))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	sums := map[string]float64{}
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		m := metricLine.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		sums[m[1]] += v
		sums[m[1]+"#"]++ // how many series there are
		if r := resultLabel.FindStringSubmatch(m[2]); r != nil {
			sums[m[1]+"/"+r[1]] += v
		}
	}
	return sums, in.Err()
}

// sinksAreDone reports whether both sinks of a test, the broker and the index, have all events.
func (p *process) sinksAreDone() bool {
	c, err := p.tryCounters()
	return err == nil && c["refrain_publish_lag#"] == 2 && c["refrain_publish_lag"] == 0
}

// splitLines cuts posts into lines, each with its newline.
func splitLines(posts []byte) [][]byte {
	all := bytes.SplitAfter(posts, []byte("\n"))
	return all[:len(all)-1] // what follows the last newline: nothing
}

// TestServeSurvivesKill feeds real posts while the process is killed five times: the events equal those of detect.
func TestServeSurvivesKill(t *testing.T) {
	n := 10_000
	if *full {
		n = 200_000
	}
	posts := lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	want := oracle.Sorted(mustDetect(t, posts, 1<<30).ids)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	p := newProcess(t)
	p.start()
	var wg sync.WaitGroup
	moments := make(chan struct{}, 1)
	var kills []int
	for range 5 {
		kills = append(kills, r.IntN(n*9/10))
	}
	slices.Sort(kills)
	wg.Go(func() {
		for range moments { // a batch is usually on its way when this runs
			p.kill(syscall.SIGKILL)
			p.start()
		}
	})
	p.feed(splitLines(posts), 500, func(sent int) {
		for len(kills) > 0 && sent >= kills[0] {
			kills = kills[1:]
			moments <- struct{}{}
		}
	})
	close(moments)
	wg.Wait()
	missing, extra := oracle.Diff(p.events(), want)
	if len(missing)+len(extra) > 0 {
		t.Fatalf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	t.Logf("%d events equal", len(want))
}

// TestServeBalance holds the metrics to promise 6, with bad posts, too short ones, redeliveries and deletions.
func TestServeBalance(t *testing.T) {
	p := newProcess(t)
	p.start()
	var posts [][]byte
	for i := range 300 {
		posts = append(posts, fmt.Appendf(nil, `{"id":"p%d","text":"The mayor of town number %d opened a bridge. Yes."}`+"\n", i, i%40))
		if i%50 == 0 {
			posts = append(posts, []byte("{\"id\":\"bad\"}\n"))
		}
	}
	again := posts[:60]
	for _, some := range [][][]byte{posts, again} {
		a, err := p.post(some)
		if err != nil || a.Accepted+a.Rejected != len(some) {
			t.Fatalf("post: %+v, %v", a, err)
		}
	}
	p.events() // a deletion overtakes sentences that are on their way
	p.delete("p7", "p8")
	p.await(10*time.Second, "two retractions", func() bool { return p.retractions() == 2 })
	if _, err := p.post(posts[:20]); err != nil { // p7 and p8 among them
		t.Fatal(err)
	}
	p.events() // everything is through
	c := p.counters()
	sent := float64(len(posts) + len(again) + 20)
	equal(t, "posts accepted + rejected", c["refrain_ingest_posts_total/accepted"]+c["refrain_ingest_posts_total/rejected"], sent)
	equal(t, "posts rejected", c["refrain_ingest_posts_total/rejected"], 6+2+1)
	equal(t, "sentences", c["refrain_sigstore_sentences_total"], c["refrain_split_sentences_total"])
	equal(t, "sentences of accepted posts", c["refrain_split_sentences_total"], 2*c["refrain_ingest_posts_total/accepted"])
	equal(t, "too short", c["refrain_sigstore_sentences_total/too_short"], c["refrain_ingest_posts_total/accepted"])
	equal(t, "repeats", c["refrain_sigstore_sentences_total/repeat"], float64(58+19-2))
	equal(t, "deleted", c["refrain_sigstore_sentences_total/deleted"], 2)
	// A redelivery is recognised in its own partition, and looked up in the others, which cannot know.
	inserted, repeats := c["refrain_sigstore_sentences_total/inserted"], c["refrain_sigstore_sentences_total/repeat"]
	equal(t, "look-ups", c["refrain_shard_lookups_total"], 4*inserted+3*repeats)
}

func equal(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (p *process) delete(ids ...string) {
	p.tb.Helper()
	for _, id := range ids {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, p.url("/v1/posts/"+id), nil)
		if err != nil {
			p.tb.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			p.tb.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent {
			p.tb.Fatalf("DELETE %s: %s", id, resp.Status)
		}
	}
}

// TestServeStopsInTime: SIGTERM ends the process with status 0, and a restart goes on with everything.
func TestServeStopsInTime(t *testing.T) {
	p := newProcess(t)
	p.start()
	one := []byte(`{"id":"1","text":"A sentence that will be said again soon."}` + "\n")
	two := []byte(`{"id":"2","text":"A sentence that will be said again soon."}` + "\n")
	if _, err := p.post([][]byte{one}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := p.kill(syscall.SIGTERM); err != nil {
		t.Fatalf("SIGTERM: %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("SIGTERM took %v", took)
	}
	p.start()
	if _, err := p.post([][]byte{two}); err != nil {
		t.Fatal(err)
	}
	if n := len(p.events()); n != 1 {
		t.Errorf("%d events after the restart, want 1", n)
	}
	if log := p.log.String(); !strings.Contains(log, `"msg":"serving"`) || !strings.Contains(log, `"engine":"auto"`) {
		t.Error("the log does not say which engine serves")
	}
}

// TestServeHelp: what has no flag is named by its key.
func TestServeHelp(t *testing.T) {
	var help bytes.Buffer
	m := Main{Stdout: &help, Stderr: &help}
	status := m.Run(t.Context(), []string{"serve", "--help"})
	for _, key := range []string{"window.engine (auto, prefix, scan or cuda)", "window.texts", "deploy/refrain.yaml"} {
		if status != 0 || !strings.Contains(help.String(), key) {
			t.Errorf("status %d, %q is not in the help:\n%s", status, key, &help)
		}
	}
}

// TestServeSaysWhatIsWrong: each mistake at start ends at once with an error that names it.
func TestServeSaysWhatIsWrong(t *testing.T) {
	p := newProcess(t)
	p.start()
	dir := t.TempDir()
	unknown := filepath.Join(dir, "unknown.yaml")
	if err := os.WriteFile(unknown, []byte("window:\n  treshold: 0.8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--data", dir, "--http", p.address}, 1, "address already in use"},
		{[]string{"--data", p.dir, "--http", "127.0.0.1:0"}, 1, "in use by process " + strconv.Itoa(p.cmd.Process.Pid)},
		{[]string{"--config", unknown}, 2, "treshold"},
		{[]string{"--bogus"}, 2, "--bogus"},
		{[]string{"stray"}, 2, `"stray"`},
	} {
		var out bytes.Buffer
		m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
		status := m.Run(context.Background(), append([]string{"serve"}, c.args...))
		if status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("serve %q: status %d, want %d with %q:\n%s", c.args, status, c.status, c.want, out.String())
		}
	}
}

// TestServeReportsOnceInAnyOrder: two near texts arrive newest first. Every pair of occurrences could be reported;
// every event is, once.
func TestServeReportsOnceInAnyOrder(t *testing.T) {
	p := newProcess(t)
	p.start()
	var posts [][]byte
	for i := 600; i > 0; i-- {
		posts = append(posts, fmt.Appendf(nil, `{"id":"%04d","created_at":"2020-01-01T00:00:00Z","text":"The same words come here again and again, my friends, number%d"}`+"\n", i, i%2))
	}
	p.feed(posts, 50, func(int) {})
	ids := p.events()
	want := oracle.Sorted(mustDetect(t, bytes.Join(posts, nil), 1<<30).ids)
	if missing, extra := oracle.Diff(ids, want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	if n := p.counters()["refrain_detector_events_total"]; n > float64(len(want))*1.1 {
		t.Errorf("%v events reported, %d ids", n, len(want))
	}
}

// TestShareOfMatches: a look-up that matches no more than it may is hardly ever cut because of how its matches fall on
// the partitions, and one that matches many times more is.
func TestShareOfMatches(t *testing.T) {
	for _, c := range []struct{ all, partitions, want int }{{0, 4, 0}, {1000, 1, 1000}, {1000, 4, 314}, {1000, 32, 54}, {1000, 1024, 5}, {3, 4, 3}} {
		if got := shareOfMatches(c.all, c.partitions); got != c.want {
			t.Errorf("%d in %d partitions: got %d, want %d", c.all, c.partitions, got, c.want)
		}
	}
}
