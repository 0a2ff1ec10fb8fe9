//go:build linux && (amd64 || arm64) && !nocuda

package detector_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/cuda/cudatest"
	"refrain/detector"
	"refrain/feed"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/sigstore/gpu"
	"refrain/text"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

// postsOfIRA are the sentences of real posts, which come one a second.
func postsOfIRA(t *testing.T, posts int) (all []feed.Sentence) {
	t.Helper()
	f, err := file.Open(file.Default(dataset.File(t, "stream/ira_2012-02_2016-08.jsonl.zst")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s text.Splitter
	for n := 0; n < posts; {
		batch, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Posts {
			n++
			batch.Posts[i].Time = feed.Time(n * 1000)
			all, _ = s.Sentences(all, &batch.Posts[i], 4)
		}
	}
	return all
}

// lockedBuffer is a log that several windows write.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) count(text string) int {
	b.Lock()
	defer b.Unlock()
	return strings.Count(b.String(), text)
}

// play gives the ids of the events of a feed in four partitions. between is called after each batch.
func play(t *testing.T, cfg detector.Config, all []feed.Sentence, between func(batch int)) (ids []string) {
	t.Helper()
	cfg.Threshold = text.Threshold{Num: 3, Den: 5}
	cfg.Span = 3000 * time.Second
	windows, err := detector.NewPartitions(cfg, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for batch := range slices.Chunk(all, 200) {
		found, _ := windows.Detect(nil, batch)
		for i := range found {
			ids = append(ids, found[i].ID.String())
		}
		between(n)
		windows.Advance(batch[len(batch)-1].Time)
		n++
	}
	slices.Sort(ids)
	return ids
}

func withDealer(t *testing.T, f *cudatest.Driver, engine string, log *lockedBuffer) detector.Config {
	t.Helper()
	c := detector.DefaultDealer()
	c.Engine, c.Logger = engine, slog.New(slog.NewTextHandler(log, nil))
	c.GPUs.Library, c.GPUs.Kernel = f.Library, "popcount"
	dealer, err := detector.NewDealer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dealer.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := detector.Default()
	cfg.Engine, cfg.Dealer = nil, dealer
	return cfg
}

// TestSeveralGPUs: the windows of a process on two or three GPUs find the events of the prefix engine, and where one of the
// GPUs is lost in the middle, only its windows go on by the processor.
func TestSeveralGPUs(t *testing.T) {
	all := postsOfIRA(t, 8000)
	byPrefix := detector.Default()
	byPrefix.Engine = detector.Prefix
	want := play(t, byPrefix, all, func(int) {})
	if len(want) < 100 {
		t.Fatalf("%d events: too few to say anything", len(want))
	}
	for _, c := range []struct {
		name      string
		devices   int32
		lost      bool
		maxFallen int // windows
	}{
		{"two", 2, false, 0}, {"three", 3, false, 0}, {"one of two lost", 2, true, 2}, {"one of three lost", 3, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := cudatest.New(t)
			f.Reset(1<<30, c.devices, 90, 2)
			f.Order(cudatest.Mixed)
			var log lockedBuffer
			atLoss := 0
			cfg := withDealer(t, f, "cuda", &log)
			got := play(t, cfg, all, func(batch int) {
				if c.lost && batch == 25 {
					f.Forget = true
					atLoss = strings.Count(f.Log(), "cuLaunchKernel")
					f.Fail("cuLaunchKernel", 1, cudatest.LaunchFailed)
				}
			})
			if !slices.Equal(got, want) {
				t.Errorf("%d events, want %d of the prefix engine, or others", len(got), len(want))
			}
			if n := log.count("engine: cuda"); n != int(c.devices) {
				t.Errorf("%d devices in the log, want %d", n, c.devices)
			}
			if fallen := log.count("the device cannot go on"); fallen > c.maxFallen || c.lost && fallen == 0 {
				t.Errorf("%d windows go on by the processor, want at most %d", fallen, c.maxFallen)
			}
			wantUsage(t, cfg.Dealer.GPUs(), int(c.devices), c.lost)
			if n := strings.Count(f.Log(), "cuLaunchKernel"); n-atLoss < 20 {
				t.Errorf("%d launches, %d before the loss: hardly a row was on a device", n, atLoss)
			}
		})
	}
}

// wantUsage wants so many devices to be told of, and one of them as lost.
func wantUsage(t *testing.T, all []gpu.Usage, devices int, lost bool) {
	t.Helper()
	failed := 0
	for i, u := range all {
		if u.Number != i || u.Name != fmt.Sprint("Fake ", i) || u.Windows == 0 || u.Memory <= 0 || u.Budget < u.Memory {
			t.Errorf("device %d: %+v", i, u)
		}
		if u.Lost {
			failed++
		}
	}
	if len(all) != devices || (failed == 1) != lost || failed > 1 {
		t.Errorf("%d devices, %d of them lost; want %d, one lost: %t", len(all), failed, devices, lost)
	}
}

// TestAutoAndGPUs: auto leaves the driver alone while look-ups are cheap, and opens the GPU once they are not, in the
// background. What it takes there is nothing that auto would choose here, and the events are those of the prefix engine.
func TestAutoAndGPUs(t *testing.T) {
	for _, c := range []struct {
		name   string
		all    []feed.Sentence
		opened int
	}{
		{"cheap", postsOfIRA(t, 2000), 0},
		{"dear", fewWordsSentences(24_000), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			byPrefix := detector.Default()
			byPrefix.Engine = detector.Prefix
			want := play(t, byPrefix, c.all, func(int) {})
			f := cudatest.New(t)
			var log lockedBuffer
			cfg := withDealer(t, f, "auto", &log)
			got := play(t, cfg, c.all, func(int) {})
			for begin := time.Now(); len(cfg.Dealer.GPUs()) < c.opened && time.Since(begin) < time.Minute; {
				time.Sleep(time.Millisecond) // what was begun goes on
			}
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%d events, want %d of the prefix engine, or others", len(got), len(want))
			}
			if n := log.count("engine: cuda"); n != c.opened || c.opened == 0 && f.Log() != "" {
				t.Errorf("%d GPUs opened, want %d; log:\n%s", n, c.opened, &log.Buffer)
			}
		})
	}
}

// fewWordsSentences are of sixty words, so that every prefix is in many rows.
func fewWordsSentences(n int) (all []feed.Sentence) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		var tokens []uint64
		for range 8 + r.IntN(6) {
			tokens = append(tokens, r.Uint64N(60))
		}
		tokens = text.Set(tokens)
		all = append(all, feed.Sentence{Post: strconv.Itoa(i), Time: feed.Time(i * 50), Tokens: tokens, Group: feed.GroupHash(tokens)})
	}
	return all
}
