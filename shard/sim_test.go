package shard

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/internal/sim"
	"refrain/sigstore"
	"refrain/split"
	"refrain/text"
)

var (
	simSeeds = flag.Int("sim.seeds", 600, "interleavings to simulate with brute rows, and a third as many with real ones; "+
		"-full: 10,000 of each")
	Full     = flag.Bool("full", false, "the long versions of the tests")
	simFirst = flag.Uint64("sim.first", 1, "the first of their seeds")
)

// subject is the real code; open is Open, or breaks a rule around it.
func subject(open func(Config) (sim.Worker, error),
	rows rowsFunc) sim.Subject {
	quiet := slog.New(slog.DiscardHandler)
	return sim.Subject{
		Rows: rows,
		Writer: func(e sim.Env) (sim.Writer, error) {
			cfg := split.Default()
			cfg.Sentences, cfg.Control, cfg.MinTokens, cfg.Lateness = e.Sentences, e.Control, e.MinTokens, e.Lateness
			cfg.MaxHold, cfg.Attempts, cfg.Now, cfg.Logger = e.MaxHold, 1, e.Now, quiet
			return split.New(cfg)
		},
		Worker: func(e sim.Env) (sim.Worker, error) {
			cfg := configOf(&e)
			if e.Process != nil {
				if *e.Process == nil {
					*e.Process = must(NewRedeliveries(RedeliveryConfig{e.Sentences.Partitions(), e.Redelivery, 0, quiet}))
				}
				cfg.Redeliveries = (*e.Process).(*Redeliveries)
			}
			return open(cfg)
		},
	}
}

// configOf is the configuration of a worker in a simulation.
func configOf(e *sim.Env) Config {
	cfg := Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store, cfg.Owned = e.Sentences, e.Events, e.Control, e.Store, e.Owned
	cfg.Rows = func(q int) (Rows, error) { return e.Rows(q) }
	cfg.Span, cfg.Lateness, cfg.Delta, cfg.MaxQueue, cfg.MaxEvents = e.Span, e.Lateness, e.Delta, e.MaxQueue, e.MaxEvents
	cfg.Redelivery, cfg.MaxHold, cfg.Now, cfg.Logger = e.Redelivery, e.MaxHold, e.Now, slog.New(slog.DiscardHandler)
	cfg.Poll = 100 * time.Millisecond // for tombstones: no reader waits
	return cfg
}

// crews is the real code of processes whose partitions come and go; open is openCrew, or breaks a rule around it.
func crews(open func(CrewConfig) (sim.Crew, error),
	rows rowsFunc) sim.Subject {
	s := subject(openWorker, rows)
	s.Crew = func(e sim.Env) (sim.Crew, error) {
		cfg := DefaultCrew()
		cfg.Worker, cfg.Workers, cfg.Name, cfg.Grace = configOf(&e), e.Workers, e.Name, e.Grace
		cfg.Rows, cfg.OwnerEvery = cfg.Worker.Rows, 300*time.Millisecond
		cfg.Worker.Rows, cfg.Worker.Owned = nil, nil
		if e.Snapshots != nil {
			snapshots := DefaultSnapshots()
			snapshots.Files, snapshots.Writer, snapshots.MinSentences, snapshots.Share = e.Snapshots, e.Life, e.SnapshotEvery, 1<<30
			snapshots.MinPause, snapshots.InTurn, snapshots.Now, snapshots.Logger = 0, true, e.Now, cfg.Worker.Logger
			cfg.Worker.Snapshots = must(NewSnapshots(snapshots))
		}
		return open(cfg)
	}
	return s
}

func openCrew(cfg CrewConfig) (sim.Crew, error) { return OpenCrew(context.Background(), cfg) }

func openWorker(cfg Config) (sim.Worker, error) { return Open(context.Background(), cfg) }

func bruteRows(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
	return sim.NewBrute(t, span, lateness, sim.RetainAll), nil
}

// detectorRows are the real ones.
func detectorRows(tb testing.TB) func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
		return detector.NewPartition(detector.Config{Threshold: t, Span: span, Lateness: lateness, Model: model, Engine: detector.Scan})
	}
}

// simulate runs so many seeds on all cores and hands every result to see, one at a time.
func simulate(t *testing.T, s sim.Subject, first uint64, seeds int, see func(seed uint64, r *sim.Result) (more bool)) {
	t.Helper()
	var next atomic.Uint64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < uint64(seeds); n = next.Add(1) - 1 {
				r, err := sim.Run(s, first+n)
				mu.Lock()
				if err != nil {
					t.Error(err)
				}
				if err != nil || !see(first+n, r) {
					next.Store(uint64(seeds))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// wantAll wants every simulation to give the events of the definition.
func wantAll(t *testing.T, s sim.Subject, seeds int) {
	t.Helper()
	var pairs, crashes, cuts, runs int
	begin := time.Now()
	simulate(t, s, *simFirst, seeds, func(seed uint64, r *sim.Result) bool {
		runs, pairs, crashes, cuts = runs+1, pairs+r.Pairs, crashes+r.Crashes, cuts+r.Cuts
		if !r.OK() {
			t.Errorf("seed %d: %s", seed, r)
		}
		return r.OK()
	})
	t.Logf("%d interleavings, %d events, %d crashes, %d power cuts, %.0f interleavings/s",
		runs, pairs, crashes, cuts, float64(runs)/time.Since(begin).Seconds())
}

// TestSimulation simulates as many interleavings as it takes to catch every mutant. Those are caught with brute rows.
func TestSimulation(t *testing.T) {
	brute, detector := *simSeeds, *simSeeds/3
	switch {
	case *Full:
		brute, detector = 10_000, 10_000
	case testing.Short():
		brute, detector = brute/20, detector/20 // what the race detector sees, few show it
	}
	t.Run("brute", func(t *testing.T) { wantAll(t, subject(openWorker, bruteRows), brute) })
	t.Run("detector", func(t *testing.T) { wantAll(t, subject(openWorker, detectorRows(t)), detector) })
}

// TestCrewSimulation moves partitions between processes, which hear of it sooner or later: nothing is lost, nothing invented.
func TestCrewSimulation(t *testing.T) {
	seeds := *simSeeds / 2
	switch {
	case *Full:
		seeds = 10_000
	case testing.Short():
		seeds /= 20
	}
	for name, rows := range map[string]rowsFunc{"brute": bruteRows, "detector": detectorRows(t)} {
		t.Run(name, func(t *testing.T) {
			var restored atomic.Int64
			wantAll(t, crews(openCrew, countRestored(rows, &restored)), seeds)
			if t.Logf("%d partitions restored from snapshots", restored.Load()); restored.Load() == 0 {
				t.Error("none was")
			}
		})
	}
}

type rowsFunc = func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error)

// countRestored counts how often rows are restored.
func countRestored(rows rowsFunc, n *atomic.Int64) rowsFunc {
	return func(t text.Threshold, span, lateness time.Duration) (sim.Rows, error) {
		inner, err := rows(t, span, lateness)
		return &restorable{inner, n}, err
	}
}

type restorable struct {
	sim.Rows
	n *atomic.Int64
}

func (r *restorable) Restore(head io.Reader, open func(string) (io.ReadCloser, error), gone sigstore.Gone) ([]*sigstore.Piece, error) {
	pieces, err := r.Rows.Restore(head, open, gone)
	if err == nil {
		r.n.Add(1)
	}
	return pieces, err
}
