package file

import (
	"context"
	"io"
	"runtime"
	"testing"

	"refrain/internal/dataset"
)

// BenchmarkRead reads a whole file, decompression included.
func BenchmarkRead(b *testing.B) {
	path := dataset.File(b, "stream/ira_2012-02_2016-08.jsonl.zst")
	b.ReportAllocs()
	posts := 0
	for b.Loop() {
		posts += countPosts(b, path)
	}
	b.ReportMetric(float64(posts)/b.Elapsed().Seconds(), "posts/s")
}

func countPosts(tb testing.TB, path string) (posts int) {
	f, err := Open(Default(path))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for {
		b, err := f.Next(context.Background())
		if err == io.EOF {
			return posts
		}
		if err != nil {
			tb.Fatal(err)
		}
		for _, r := range b.Rejected {
			tb.Fatalf("%s: %s", r.Location, r.Reason)
		}
		posts += len(b.Posts) + len(b.Rejected)
	}
}

// TestMemory holds Memory to what the decompressor really allocates: a budget counts on it.
func TestMemory(t *testing.T) {
	path := dataset.File(t, "stream/ira_2012-02_2016-08.jsonl.zst")
	before := liveHeap()
	f, err := Open(Default(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for f.BytesRead() < f.Size()/2 {
		_, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	got := int64(liveHeap() - before)
	if got < f.Memory()*9/10 || got > f.Memory()*11/10+1<<20 {
		t.Errorf("half-way the file holds %d bytes, and Memory says %d", got, f.Memory())
	}
	t.Logf("holds %d bytes, Memory says %d", got, f.Memory())
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
