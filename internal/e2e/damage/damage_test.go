// Package damage tests what a server does whose files are not as it wrote them.
package damage

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/topic"
	"refrain/topic/jetstream"
	"refrain/topic/jetstream/blocks"
)

// mayor is a post; every tenth says the same.
func mayor(i int) []byte {
	return fmt.Appendf(nil, `{"id":"p%d","text":"The mayor of town number %d opened a bridge."}`+"\n", i, i%10)
}

// filled are data directories of a real server: as it leaves them when it is killed, and when it is stopped.
var filled struct {
	sync.Once
	killed, stopped fstest.MapFS
}

// mustFill gives a test copies of filled, which the first one makes.
func mustFill(t *testing.T) (killed, stopped string) {
	t.Helper()
	filled.Do(func() {
		k, s := mustServe(t)
		filled.killed, filled.stopped = mustLoad(t, k), mustLoad(t, s)
	})
	if filled.stopped == nil {
		t.Fatal("no directories: see the first test that failed")
	}
	return mustCopy(t, filled.killed), mustCopy(t, filled.stopped)
}

// mustLoad is what a directory holds.
func mustLoad(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mustServe makes the directories.
func mustServe(t *testing.T) (killed, stopped string) {
	t.Helper()
	p := e2e.New(t)
	p.Start()
	for i := 0; i < 600; i += 10 {
		lines := [][]byte{[]byte("{\"id\":\"bad\"}\n")}
		for j := range 10 {
			lines = append(lines, mayor(i+j))
		}
		if _, err := p.Post(lines); err != nil {
			t.Fatal(err)
		}
	}
	p.Events()
	for i := range 5 {
		p.Delete(fmt.Sprintf("p%d", 100+i))
	}
	p.Await(10*time.Second, "retractions", func() bool { return p.Retractions() == 5 })
	time.Sleep(1500 * time.Millisecond) // states and cursors are stored every second
	_ = p.Kill(syscall.SIGKILL)
	killed = mustCopy(t, os.DirFS(p.Dir))
	p.Start()
	p.Events()
	if err := p.Kill(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return killed, p.Dir
}

func mustCopy(t *testing.T, from fs.FS) (to string) {
	t.Helper()
	to = t.TempDir()
	if err := os.CopyFS(to, from); err != nil {
		t.Fatal(err)
	}
	return to
}

// on starts a server on a copy of a directory.
func on(t *testing.T, dir string) *e2e.Process {
	t.Helper()
	p := e2e.New(t)
	p.Dir = dir
	p.Env = append(p.Env, "REFRAIN_DATA_DIR="+dir)
	p.Start()
	return p
}

func mustFlip(t *testing.T, path string, at func(size int) int, bit byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at(len(b))] ^= bit
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func middle(size int) int { return size / 2 }

func block(dir, stream string) string { return filepath.Join(blocks.Dir(dir), stream, "msgs", "1.blk") }

// message is where one is.
type message struct {
	path  string
	begin int64
	size  int
	seq   uint64
	posts []string // in a batch of sentences
}

// mustList lists the messages of a stream.
func mustList(t *testing.T, dir, stream string) (all []message) {
	t.Helper()
	_, err := blocks.Scan(dir, stream, func(file string, r blocks.Record) error {
		if !r.Message {
			return nil
		}
		m := message{path: file, begin: r.Offset, size: r.Size, seq: r.Seq}
		m.posts = postsOf(r)
		all = append(all, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// postsOf are the posts whose sentences a message holds; none where it is no sentence record.
func postsOf(r blocks.Record) (posts []string) {
	records, err := jetstream.Unpack(r.Header, r.Data)
	if err != nil {
		return nil
	}
	for _, data := range records {
		batch, err := topic.DecodeBatch(data)
		if err != nil {
			return nil
		}
		for _, x := range batch.Sentences {
			posts = append(posts, x.Post)
		}
	}
	return posts
}

// TestDamagedRecordsAreCounted: bits flipped at random in each topic of a real server, killed or stopped in order. Those
// records are lost and no others, they are named and counted, now and at the next start, which finds nothing more; the
// service goes on. (Left to itself the server drops the rest of the block, or nothing shows.)
func TestDamagedRecordsAreCounted(t *testing.T) {
	killed, stopped := mustFill(t)
	r := rand.New(rand.NewPCG(5, 5))
	for from, name := range map[string]string{killed: "killed", stopped: "stopped"} {
		for _, stream := range []string{"sentences", "events", "control"} {
			t.Run(name+"/"+stream, func(t *testing.T) {
				dir := mustCopy(t, os.DirFS(from))
				all, hit := mustList(t, dir, stream), map[uint64]bool{}
				for range 3 {
					m := all[1+r.IntN(len(all)-1)] // what is lost before the first is known for one start only
					hit[m.seq] = true
					mustFlip(t, m.path, func(int) int { return int(m.begin) + r.IntN(m.size) }, 1<<r.IntN(8))
				}
				p := on(t, dir)
				checkLost(t, p, stream, len(hit), 1000)
				if found := strings.Count(p.Log.String(), "a file of a stream is damaged"); found == 0 || found > len(hit) {
					t.Errorf("%d places named, %d records hit", found, len(hit))
				}
				for _, m := range mustList(t, dir, stream) {
					if hit[m.seq] {
						t.Errorf("message %d is there", m.seq)
					}
				}
				if after := len(mustList(t, dir, stream)); after < len(all)-len(hit) {
					t.Errorf("%d messages of %d, of which %d were hit", after, len(all), len(hit))
				}
				mustStop(t, p)
				again := on(t, dir)
				checkLost(t, again, stream, len(hit), 1020)
				if log := again.Log.String(); strings.Contains(log, "a file of a stream is damaged") {
					t.Error("something is damaged still")
				}
				mustStop(t, again)
			})
		}
	}
}

// checkLost wants a number of records lost, and said so, and events as before.
func checkLost(t *testing.T, p *e2e.Process, stream string, want, post int) {
	t.Helper()
	before := len(p.Events())
	if _, err := p.Post([][]byte{mayor(post), mayor(post + 10)}); err != nil {
		t.Fatal(err)
	}
	if after := len(p.Events()); after == before {
		t.Error("no events any more")
	}
	if lost := p.Counters()["refrain_topic_lost_records"]; lost != float64(want) {
		t.Errorf("%v lost, want %d", lost, want)
	}
	if !strings.Contains(p.Log.String(),
		`"a topic lacks records that were acknowledged: its files are damaged","topic":"`+stream+`"`) {
		t.Errorf("it does not say that %s lacks records", stream)
	}
}

// TestALostSentenceRecord: of sentences that are lost before they were looked up the events are missing, and no others.
func TestALostSentenceRecord(t *testing.T) {
	killed, _ := mustFill(t)
	again := func(dir string) []feed.Match {
		for _, stream := range []string{"events", "KV_state"} { // everything is looked up again
			if err := os.RemoveAll(filepath.Join(blocks.Dir(dir), stream)); err != nil {
				t.Fatal(err)
			}
		}
		p := on(t, dir)
		defer mustStop(t, p)
		return p.Matches()
	}
	all := mustList(t, killed, "sentences")
	m := all[len(all)/2]
	want := map[feed.Hash]bool{}
	for _, e := range again(mustCopy(t, os.DirFS(killed))) {
		if !slices.Contains(m.posts, e.Later.Post) {
			want[e.ID] = true
		}
	}
	dir := mustCopy(t, os.DirFS(killed))
	mustFlip(t, filepath.Join(blocks.Dir(dir), "sentences", "msgs", filepath.Base(m.path)),
		func(int) int { return int(m.begin) + m.size/2 }, 1)
	got, found := again(dir), map[feed.Hash]bool{} // an event may come twice
	for _, e := range got {
		if !want[e.ID] {
			t.Errorf("an event of %s, which is lost", e.Later.Post)
		}
		found[e.ID] = true
	}
	if missing := len(want) - len(found); missing > 0 || len(got) == 0 || len(m.posts) == 0 {
		t.Errorf("%d events are missing, %d are there; lost are the sentences of %d posts", missing, len(got), len(m.posts))
	}
	t.Logf("%d events are there; lost are the sentences of %v", len(got), m.posts)
}

func mustStop(t *testing.T, p *e2e.Process) {
	t.Helper()
	if err := p.Kill(syscall.SIGTERM); err != nil {
		t.Errorf("it does not end in order: %v", err)
	}
}

// TestALostStateRepeatsEvents: without positions everything is looked up again, with the same ids.
func TestALostStateRepeatsEvents(t *testing.T) {
	killed, stopped := mustFill(t)
	for _, from := range []string{killed, stopped} {
		p := on(t, mustCopy(t, os.DirFS(from)))
		want := p.Events()
		mustStop(t, p)
		for what, do := range map[string]func(dir string) error{
			"removed": func(dir string) error { return os.RemoveAll(filepath.Join(blocks.Dir(dir), "KV_state")) },
			"cut":     func(dir string) error { return os.Truncate(block(dir, "KV_state"), 1000) },
			"flipped": func(dir string) error {
				mustFlip(t, block(dir, "KV_state"), func(size int) int { return size - 20 }, 4)
				return nil
			},
		} {
			dir := mustCopy(t, os.DirFS(from))
			if err := do(dir); err != nil {
				t.Fatal(err)
			}
			p := on(t, dir)
			p.Await(20*time.Second, "events", func() bool { return slices.Equal(slices.Compact(p.Events()), slices.Compact(want)) })
			mustStop(t, p)
			t.Logf("%s: %d distinct events again", what, len(slices.Compact(want)))
		}
	}
}

// TestTheServerStartsOverRandomDamage, whatever file it is in, and answers.
func TestTheServerStartsOverRandomDamage(t *testing.T) {
	killed, stopped := mustFill(t)
	n := 8
	if *e2e.Full {
		n = 200
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		dir := mustCopy(t, os.DirFS([]string{killed, stopped}[i%2]))
		files := mustFiles(t, dir)
		path := files[r.IntN(len(files))]
		bit := byte(1) << r.IntN(8)
		var place int
		mustFlip(t, path, func(size int) int { place = r.IntN(size); return place }, bit)
		t.Logf("%s: bit %#x at %d", strings.TrimPrefix(path, dir), bit, place)
		p := on(t, dir)
		if _, err := p.Post([][]byte{mayor(2000), mayor(2010)}); err != nil {
			t.Error(err)
		}
		p.Events()
		mustStop(t, p)
	}
}

// mustFiles are the files that hold anything.
func mustFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "refrain.lock" {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
