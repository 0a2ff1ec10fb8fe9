package jetstream_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"refrain/internal/natsconn"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// TestConsumerDeleted takes the reader's consumer away, again and again.
func TestConsumerDeleted(t *testing.T) {
	s := MustStart(t)
	x := MustOpenTopic(t, s)
	r := conformance.MustOpen(t, x, 0, 0, 0)
	for i := range 3 {
		conformance.MustAppend(t, x, topic.Record{Partition: i, Data: []byte{byte(i)}})
		if got := conformance.MustFetch(t, r, 1); got[0].Data[0] != byte(i) {
			t.Fatalf("got record %d, want %d", got[0].Data[0], i)
		}
		if n := deleteConsumers(t, s); n == 0 {
			t.Fatal("there was no consumer to delete")
		}
	}
}

func deleteConsumers(t *testing.T, s *jetstream.Server) int {
	t.Helper()
	stream, err := s.JetStream().Stream(t.Context(), "sentences")
	if err != nil {
		t.Fatal(err)
	}
	deleted := 0
	for name := range stream.ConsumerNames(t.Context()).Name() {
		if err := stream.DeleteConsumer(t.Context(), name); err != nil {
			t.Errorf("delete consumer: %v", err)
		}
		deleted++
	}
	return deleted
}

// TestReaderLeavesNoConsumer: workers open readers for catching up all the time.
func TestReaderLeavesNoConsumer(t *testing.T) {
	s := MustStart(t)
	x := MustOpenTopic(t, s)
	conformance.MustAppend(t, x, topic.Record{})
	for range 5 {
		r := conformance.MustOpen(t, x, 0, 0, 0)
		conformance.MustFetch(t, r, 1)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := deleteConsumers(t, s); n != 0 {
		t.Errorf("%d consumers are left", n)
	}
}

// TestConnectionDropped closes the connection in the midst of appending and reading. Appends that failed are made
// again, as the contract asks; every record arrives, in order apart from repetitions.
func TestConnectionDropped(t *testing.T) {
	s := MustStart(t)
	x := MustOpenTopic(t, s)
	r := conformance.MustOpen(t, x, 0, 0, 0)
	const n = 60
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := range n {
			if i%20 == 10 {
				if err := s.DropConnection(); err != nil {
					t.Errorf("drop connection: %v", err)
				}
			}
			appendUntilDone(t, x, topic.Record{Data: []byte(fmt.Sprint(i))})
		}
	})
	for want := 0; want < n; {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range records {
			var got int
			if _, err := fmt.Sscan(string(record.Data), &got); err != nil || got > want {
				t.Fatalf("got %q, want %d", record.Data, want)
			}
			want = got + 1
		}
	}
}

func appendUntilDone(t *testing.T, x topic.Topic, r topic.Record) {
	deadline := time.Now().Add(60 * time.Second)
	err := x.Append(t.Context(), []topic.Record{r})
	for err != nil && t.Context().Err() == nil && time.Now().Before(deadline) {
		err = x.Append(t.Context(), []topic.Record{r})
	}
	if err != nil && t.Context().Err() == nil {
		t.Errorf("append: %v", err)
	}
}

// TestRemoteRestart runs the same code on a server behind a port, which is stopped and started again.
func TestRemoteRestart(t *testing.T) {
	dir := t.TempDir()
	remote := mustListen(t, dir, server.RANDOM_PORT)
	c := mustConnect(t, natsconn.Config{Servers: []string{remote.ClientURL()}}, takesLess)
	x := mustOpenOn(t, c)
	r := conformance.MustOpen(t, x, 0, 0, 0)
	conformance.MustAppend(t, x, topic.Record{Data: []byte("before")})
	conformance.MustFetch(t, r, 1)

	port := remote.Addr().(*net.TCPAddr).Port
	stop(remote)
	mustListen(t, dir, port)
	appendUntilDone(t, x, topic.Record{Data: []byte("after")})
	for {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if string(records[len(records)-1].Data) == "after" {
			return
		}
	}
}

func mustListen(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("server is not ready")
	}
	t.Cleanup(func() { stop(s) })
	return s
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// TestForeignMessages: others may write into the stream. What can be read is read, the rest is told and stepped over.
func TestForeignMessages(t *testing.T) {
	s := MustStart(t)
	x := MustOpenTopic(t, s)
	r := conformance.MustOpen(t, x, 0, 0, 0)
	before := time.Now().Add(-time.Second)
	for _, subject := range []string{"sentences.1", "sentences.x", "sentences.3", "sentences.2"} {
		if _, err := s.JetStream().Publish(t.Context(), subject, []byte(subject)); err != nil {
			t.Fatal(err)
		}
	}
	if got := conformance.MustFetch(t, r, 1)[0]; got.Partition != 1 || got.Time.Before(before) {
		t.Errorf("got %+v, want partition 1 with the server's time", got)
	}
	for _, subject := range []string{"sentences.x", "sentences.3"} {
		if _, err := r.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), subject) {
			t.Errorf("got %v, want an error about %s", err, subject)
		}
	}
	if got := conformance.MustFetch(t, r, 1)[0]; got.Partition != 2 {
		t.Errorf("got %+v, want partition 2", got)
	}
}
