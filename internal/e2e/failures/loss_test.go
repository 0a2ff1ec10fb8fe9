package failures

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// own is a broker of a test's own, of either kind.
type own struct {
	*devservers.Server
	kind string
	data string // its directory below Dir
}

// topics is the part of the configuration that names it.
func (o *own) topics() string {
	if o.kind == "kafka" {
		return e2e.KafkaTopics(o.Addr())
	}
	return e2e.NATSTopics(o.Addr())
}

func (o *own) path() string { return filepath.Join(o.Dir(), o.data) }

// restore starts the broker again with an older copy of its disk.
func (o *own) restore(t *testing.T, backup string) {
	t.Helper()
	o.Kill()
	mustRemove(t, o.path())
	mustCopy(t, o.path(), backup)
	o.Start()
}

// eachOwn runs a test on a broker of each kind.
func eachOwn(t *testing.T, run func(t *testing.T, o *own)) {
	t.Run("kafka", func(t *testing.T) { run(t, &own{devservers.StartKafka(t), "kafka", "data"}) })
	t.Run("nats", func(t *testing.T) { run(t, ownNATS(t)) })
}

func ownNATS(t *testing.T) *own { return &own{devservers.StartNATS(t), "nats", "jetstream"} }

func skipUnlessFull(t *testing.T) {
	t.Helper()
	if !*e2e.Full {
		t.Skip("half a minute: runs with -full")
	}
}

// backUp starts the service, and copies the broker's disk when a quarter of the posts is in. Then the next quarter comes.
func (s *service) backUp(t *testing.T, o *own) (backup string) {
	t.Helper()
	s.Start()
	s.post(s.part(0))
	s.wantEvents(s.lines[:250])
	o.Stop()
	backup = filepath.Join(t.TempDir(), "backup")
	mustCopy(t, backup, o.path())
	o.Start()
	s.AwaitReady(time.Minute)
	s.post(s.part(1))
	s.wantEvents(s.lines[:500])
	return backup
}

// TestRestored: the broker comes back with an older copy of its disk, and has more records than it had before by the time
// that anybody looks. What was lost is sent again, and found again, by the workers, the index and whoever reads the events.
func TestRestored(t *testing.T) {
	skipUnlessFull(t)
	eachOwn(t, func(t *testing.T, o *own) {
		s := newService(t, o.topics())
		backup := s.backUp(t, o)
		o.restore(t, backup)
		s.post(s.lines[:500])
		s.wantRestarts(1, "a topic is another one than it was")
		s.post(s.lines[:750])
		s.wantEvents(s.lines[:750])
		s.wantIndex()
	})
}

func mustCopy(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func mustRemove(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// TestRestoredWhileStopped: nobody was there to see it. Kafka takes a minute for it, in a full run.
func TestRestoredWhileStopped(t *testing.T) {
	run := func(t *testing.T, o *own) {
		s := newService(t, o.topics())
		backup := s.backUp(t, o)
		_ = s.Kill(syscall.SIGKILL)
		o.restore(t, backup)
		s.Start()
		s.post(s.lines[:750])
		s.wantEvents(s.lines[:750])
		s.wantIndex()
	}
	if *e2e.Full {
		eachOwn(t, run)
		return
	}
	run(t, ownNATS(t))
}

// TestEmptied: the broker comes back with nothing.
func TestEmptied(t *testing.T) {
	skipUnlessFull(t)
	eachOwn(t, func(t *testing.T, o *own) {
		s := newService(t, o.topics())
		s.Start()
		s.post(s.part(0))
		s.wantEvents(s.lines[:250])
		o.Kill()
		mustRemove(t, o.path())
		o.Start()
		s.wantNotReady("storage", "is gone: somebody has deleted it, or the")
		s.wantRefused()
		s.wantRestarts(1, "has been deleted with all that it held")
		s.post(s.lines[:500])
		s.wantEvents(s.lines[:500])
		s.wantIndex()
	})
}

// TestStandsStill: the broker takes connections and says nothing.
func TestStandsStill(t *testing.T) {
	skipUnlessFull(t)
	eachOwn(t, func(t *testing.T, o *own) {
		s := newService(t, o.topics())
		s.Start()
		s.post(s.part(0))
		o.Pause()
		begin := time.Now()
		s.wantNotReady("storage", map[string]string{"kafka": "no broker has answered since", "nats": "not connected since"}[o.kind])
		s.wantRefused()
		s.Await(2*time.Minute, "end of the pause", func() bool { return time.Since(begin) > time.Minute })
		if status, body := s.Get("/livez"); status != 200 {
			t.Errorf("/livez is %d: a new start would not help: %s", status, body)
		}
		o.Continue()
		s.AwaitReady(time.Minute)
		s.post(s.part(1))
		s.wantEvents(s.lines[:500])
	})
}

// TestDiskFull: the disk of a broker is full, by which Kafka ends itself, and gets room again. A NATS server takes nothing
// more, of which topic/jetstream has a test.
func TestDiskFull(t *testing.T) {
	skipUnlessFull(t)
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small disk")
	}
	o := &own{devservers.StartKafka(t), "kafka", "data"}
	o.Stop()
	mustRemove(t, o.path())
	mustMount(t, o.path())
	o.Start()
	s := newService(t, o.topics())
	s.Start()
	s.post(s.part(0))
	ballast := filepath.Join(o.path(), "ballast")
	fill(t, ballast)
	s.wantFull()
	s.wantNotReady("storage", "no broker has answered since")
	s.wantRefused()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	o.Start() // it has ended itself
	s.post(s.lines[:500])
	s.wantEvents(s.lines[:500])
}

func mustMount(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.Mkdir(dir, 0o700), syscall.Mount("none", dir, "tmpfs", 0, "size=48m")); err != nil {
		t.Skip("no small disk: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// fill takes all the room that there is.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 1<<16))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantFull sends posts until one is refused.
func (s *service) wantFull() {
	s.TB.Helper()
	n := 0
	s.Await(2*time.Minute, "refusal", func() bool {
		n++
		_, err := s.Post([][]byte{fmt.Appendf(nil, `{"id":"fill-%d","source":"fill","created_at":"2012-01-01T00:00:00Z","text":"%x"}`+"\n", n, make([]byte, 4000))})
		return err != nil
	})
}
