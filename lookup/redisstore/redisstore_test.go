package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/lookup"
	"refrain/lookup/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// with is the default configuration for a server, changed.
func with(url string, changes ...func(*Config)) Config {
	cfg := Default()
	cfg.URL = url
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

func mustOpen(tb testing.TB, c Config) *Store {
	tb.Helper()
	if c.Retention == 0 {
		c.Retention = storetest.Retention
	}
	c.Logger = slog.New(slog.DiscardHandler)
	s, err := Open(c)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("one call at a time: nothing for the race detector")
	}
	servers := map[string]func(testing.TB) string{
		"redis":     devservers.Redis,
		"miniredis": func(tb testing.TB) string { return miniredis.RunT(tb).Addr() },
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			url := "redis://" + start(t)
			prefix := devservers.Name(t)
			var n atomic.Int64
			storetest.Run(t, func(tb testing.TB, now func() time.Time, retention time.Duration) lookup.Store {
				return mustOpen(tb, with(url, func(c *Config) {
					c.Prefix, c.Now, c.Retention = fmt.Sprint(prefix, ":", n.Add(1), ":"), now, retention
				}))
			})
		})
	}
}

func event(i int) lookup.Change {
	o := feed.Occurrence{Post: fmt.Sprint("post", i), Time: feed.Time(10 + i), Author: "a", Text: "some words"}
	return lookup.Change{Match: storetest.Match(o, feed.Occurrence{Post: "origin", Time: 1}, feed.GroupHash([]uint64{1}), 1)}
}

// TestEverythingExpires: nothing but the cursor stays.
func TestEverythingExpires(t *testing.T) {
	server := miniredis.RunT(t)
	s := mustOpen(t, with("redis://"+server.Addr(), func(c *Config) { c.Retention = time.Hour }))
	defer s.Close()
	if _, err := s.Get(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	deletion := lookup.Change{}
	deletion.Deleted.Post = "post2"
	if err := s.Apply(t.Context(), []lookup.Change{event(1), event(2), event(3), deletion}); err != nil {
		t.Fatal(err)
	}
	server.FastForward(time.Hour - time.Minute)
	if n := len(server.Keys()); n < 7 {
		t.Errorf("%d keys before the retention is over: %q", n, server.Keys())
	}
	server.FastForward(time.Hour / 2)
	for _, key := range server.Keys() {
		if !strings.Contains(key, "{cursor}") {
			t.Errorf("%q lives for ever", key)
		}
	}
}

// step applies one event and stores a cursor, as a follower of the topic does.
func step(ctx context.Context, s *Store, i int) error {
	if err := s.Apply(ctx, []lookup.Change{event(i)}); err != nil {
		return err
	}
	return s.Put(ctx, "c", fmt.Append(nil, i))
}

func mustStep(t *testing.T, s *Store, i int) {
	t.Helper()
	if err := step(t.Context(), s, i); err != nil {
		t.Fatalf("event %d: %v", i, err)
	}
}

// dump and restore are all keys as they were: a server that comes back from an older copy.
func dump(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range s.client.Keys(t.Context(), "*").Val() {
		v, err := s.client.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		all[key] = v
	}
	return all
}

func restore(t *testing.T, s *Store, all map[string]string) {
	t.Helper()
	if err := s.client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for key, v := range all {
		if err := s.client.Restore(t.Context(), key, time.Hour, v).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRewind: Redis comes back with less than it had, at every moment between two calls. It is noticed, and reading
// again from the cursor makes everything good.
func TestRewind(t *testing.T) {
	losses := map[string]func(t *testing.T, s *Store, older map[string]string){
		"emptied": func(t *testing.T, s *Store, _ map[string]string) { restore(t, s, nil) },
		"older":   restore,
	}
	for name, lose := range losses {
		for _, between := range []string{"before apply", "before put"} {
			t.Run(name+" "+between, func(t *testing.T) {
				server := devservers.StartRedis(t)
				s := mustOpen(t, with("redis://"+server.Addr()))
				defer s.Close()
				if _, err := s.Get(t.Context(), "c"); err != nil {
					t.Fatal(err)
				}
				mustStep(t, s, 1)
				older := dump(t, s)
				mustStep(t, s, 2)
				if between == "before put" {
					if err := s.Apply(t.Context(), []lookup.Change{event(3)}); err != nil {
						t.Fatal(err)
					}
					lose(t, s, older)
					wantRewound(t, s.Put(t.Context(), "c", []byte("3")))
				} else {
					lose(t, s, older)
				}
				wantRewound(t, step(t.Context(), s, 3))
				replay(t, s, 3)
			})
		}
	}
}

func wantRewound(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, lookup.ErrRewound) {
		t.Errorf("error %v, want one that says that the store has gone back", err)
	}
}

// replay goes on from the cursor to the event given, and looks whether all are there.
func replay(t *testing.T, s *Store, to int) {
	t.Helper()
	cursor, err := s.Get(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	from := 0
	_, _ = fmt.Sscan(string(cursor), &from) // nothing: from the beginning
	for i := from + 1; i <= to; i++ {
		mustStep(t, s, i)
	}
	for i := 1; i <= to; i++ {
		r, err := s.Reuse(t.Context(), "", fmt.Sprint("post", i), lookup.Page{Limit: 10})
		if err != nil || len(r.RepeatOf) != 1 || r.Total != to-i {
			t.Errorf("post %d: %+v, %v", i, r, err)
		}
	}
}

// TestLostAfterAnApply: a Redis that has lost the data of the last Apply, but not the cursor before it, is noticed.
func TestLostAfterAnApply(t *testing.T) {
	s := mustOpen(t, with("redis://"+devservers.StartRedis(t).Addr()))
	defer s.Close()
	mustStep(t, s, 1)
	older := dump(t, s)
	if err := s.Apply(t.Context(), []lookup.Change{event(2)}); err != nil {
		t.Fatal(err)
	}
	restore(t, s, older) // the cursor is 1, as it was
	wantRewound(t, s.Put(t.Context(), "c", []byte("2")))
	replay(t, s, 2)
}

// TestRedisDown: calls fail at once and say so; afterwards it goes on.
func TestRedisDown(t *testing.T) {
	server := devservers.StartRedis(t, "--appendfsync", "always")
	s := mustOpen(t, with("redis://"+server.Addr()))
	defer s.Close()
	mustStep(t, s, 1)
	server.Kill()
	began := time.Now()
	_, err := s.Reuse(t.Context(), "", "post1", lookup.Page{})
	if !errors.Is(err, lookup.ErrUnavailable) || time.Since(began) > 5*time.Second {
		t.Errorf("a query: %v after %s", err, time.Since(began))
	}
	if err := step(t.Context(), s, 2); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("an event: %v", err)
	}
	server.Start()
	for step(t.Context(), s, 2) != nil && t.Context().Err() == nil && time.Since(began) < 30*time.Second {
		continue // the pool finds out
	}
	replay(t, s, 2)
}

// cut is a connection to Redis that ends when told so: what was sent then may have been done or not.
type cut struct {
	net.Listener
	to   string
	left atomic.Int64 // bytes to Redis until every connection is cut; negative: never
}

func (c *cut) serve() {
	for {
		in, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", c.to)
			if err != nil {
				return
			}
			defer out.Close()
			go func() {
				defer in.Close() // answers end with the requests
				_, _ = io.Copy(in, out)
			}()
			c.copy(out, in)
		}()
	}
}

func (c *cut) copy(out io.Writer, in io.Reader) {
	b := make([]byte, 512)
	for {
		n, err := in.Read(b)
		if left := c.left.Load(); left >= 0 && c.left.Add(-int64(n)) < 0 {
			_, _ = out.Write(b[:min(int64(n), left)])
			c.left.Store(0)
			return
		}
		if _, e := out.Write(b[:n]); err != nil || e != nil {
			return
		}
	}
}

// TestCutAnywhere cuts the connection after every so many bytes. What was done is applied again, and nothing is missing,
// doubled, or taken for a Redis that has gone back.
func TestCutAnywhere(t *testing.T) {
	server := devservers.StartRedis(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cut{Listener: l, to: server.Addr()}
	ended := make(chan bool)
	go func() {
		c.serve()
		close(ended)
	}()
	defer func() {
		l.Close()
		<-ended
	}()
	whole := false
	for bytes := int64(0); !whole; bytes += 97 {
		c.left.Store(-1)
		clock := storetest.NewClock()
		s := mustOpen(t, with("redis://"+l.Addr().String()+"?max_retries=0",
			func(c *Config) { c.Prefix, c.Now = fmt.Sprint(bytes, ":"), clock.Now }))
		mustStep(t, s, 1)
		c.left.Store(bytes)
		whole = true
		for i := 2; i <= 4; i++ {
			for tries := 0; step(t.Context(), s, i) != nil; tries++ {
				whole = false
				c.left.Store(-1)
				clock.Advance(storetest.Retention / 4) // the next slice
				if err := step(t.Context(), s, i); errors.Is(err, lookup.ErrRewound) || tries > 20 {
					t.Fatalf("cut after %d bytes: %v", bytes, err)
				}
			}
		}
		c.left.Store(-1)
		replay(t, s, 4)
		s.Close()
	}
}

func TestURL(t *testing.T) {
	encode := "redis: url: not a URL (characters such as / in the password must be percent-encoded)"
	for url, want := range map[string]string{
		"http://x": "scheme", "redis://h/x": "database", "redis://:secret@h:x": encode,
		"redis://:secret/x@h:1/2": encode, "redis://u:1/secret@h:1": encode, "redis://u:1?secret@h": encode,
		"redis://u:1#secret@h": encode,
	} {
		_, err := Open(with(url))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"rediss://user:pass@h:1/2", "redis://a:1?addr=b:2&addr=c:3", "unix:///tmp/x@1",
		"redis://:a%2Fb@h:1/2"} {
		s, err := Open(with(url))
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		s.Close()
	}
}
