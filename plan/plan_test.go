package plan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/plan"
)

// feedOf is the default feed of so many posts a day.
func feedOf(posts float64) plan.Feed {
	f := plan.DefaultFeed()
	f.PostsPerDay = posts
	return f
}

func mustPlan(tb rapid.TB, f plan.Feed, m plan.Machine) plan.Result {
	tb.Helper()
	r, err := plan.Plan(f, m, plan.DefaultCosts())
	if err != nil {
		tb.Fatalf("%+v on %+v: %v", f, m, err)
	}
	return r
}

// simple are costs and a feed of round numbers, to be followed on paper: 100 sentences a second, windows of one day's
// 2^23 sentences, half of them distinct.
func simple() (plan.Feed, plan.Machine, plan.Costs) {
	f := plan.Feed{
		PostsPerDay: 8_640_000, PeakFactor: 1, Span: 24 * time.Hour * 16 / 17, Threshold: 0.8, Bits: 64, Ones: 1,
		SentencesPerPost: 1, TokensPerSentence: 10, DistinctShare: 0.5, TextBytes: 20, PostBytes: 200,
	}
	m := plan.Machine{Broker: plan.Kafka, Cores: 4, Memory: 10e9, MemoryShare: 0.5, Network: 1e6}
	c := plan.Costs{
		DecodeMicros: 10, SplitMicros: 90, ReadMicros: 50, InsertMicros: 100,
		RecordBytes: 100, RecordShare: 1, EventShare: 1, BatchSeconds: 0.01, MaxBatch: 64, HopSeconds: 0.001, HopTail: 0.002,
		Prefix:   []plan.LookupCost{{Threshold: 0.8, Million: 1000, Exponent: 1, Large: 1}},
		Scan:     []plan.LookupCost{{Threshold: 0.8, Million: 3000, Exponent: 1, Large: 1}},
		RowBytes: 50, OccurrenceBytes: 25, PrefixBytes: 10, ProcessBytes: 1e8,
	}
	return f, m, c
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestOnPaper follows the formulae of docs/plan.md by hand.
func TestOnPaper(t *testing.T) {
	f, m, c := simple()
	r, err := plan.Plan(f, m, c)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "sentences a second", r.Sentences, 100)
	near(t, "sentences in the window", r.WindowSentences, 8.64e6) // span · 17/16 is a day
	near(t, "rows", r.WindowRows, 4.32e6)
	near(t, "window", r.WindowBytes, 4.32e6*(50+25/0.5+10*(10*0.2+1)))
	near(t, "memory of a worker", r.MemoryPerWorker, 1e8+4.32e6*130)
	near(t, "budget", r.WindowBudget, 1.1*4.32e6*130)
	near(t, "memory at the budget", r.MemoryAtBudget, 1e8+1.1*4.32e6*130)
	// One partition would be busy for 100/s · (4,320 + 50 + 100) µs = 0.447 of its time, below 0.6.
	if r.Engine != "prefix" || r.Workers != 1 || r.WorkerPartitions != 1 || r.Bottleneck != plan.OneThread {
		t.Errorf("got %+v", r)
	}
	near(t, "look-up", r.LookupMicros, 4320)
	near(t, "utilisation", r.Utilisation, 0.447)
	near(t, "load", r.Loads[0].Value, 0.447/0.6)
	near(t, "network", r.NetworkPerWorker, 100*200+100*2*(100+80+20)) // posts in; sentences out, and in again
	// A batch is what 10 ms bring, one sentence: it takes 4.47 ms and waits by M/D/1.
	near(t, "p50", r.LatencyP50, 0.001+0.005+0.00447)
	near(t, "p99", r.LatencyP99, 0.002+0.01+0.00447+0.00447/(2*(1-0.447))*math.Log(0.447/0.01))
}

// TestOnPaperColumns has three times the posts: nine times the work in a window three times as large.
func TestOnPaperColumns(t *testing.T) {
	f, m, c := simple()
	f.PostsPerDay *= 3
	r, err := plan.Plan(f, m, c)
	if err != nil {
		t.Fatal(err)
	}
	// Look-ups take 300/s · 12,960 µs = 3.9 cores, and a worker has 0.6 · 4 = 2.4; two have room for the rest as well.
	// With n partitions a thread is busy for 300/s · (6,480/n + 50 + 50/n) µs: 0.6 takes n = 4.
	if r.Workers != 2 || r.Columns != 2 || r.WorkerPartitions != 4 || r.Partitions != 8 {
		t.Errorf("got %+v", r)
	}
	near(t, "cores for look-ups", r.Time[0].Value, 300*12_960e-6)
}

// TestDefaultFeeds are the worked examples of docs/plan.md. They change with the default costs, and the page with them.
func TestDefaultFeeds(t *testing.T) {
	gpu := plan.DefaultMachine()
	gpu.GPUs = 1
	for _, c := range []struct {
		posts     float64
		machine   plan.Machine
		engine    string
		workers   [2]int // from, to
		gigabytes float64
	}{
		{1e6, plan.DefaultMachine(), "prefix", [2]int{1, 1}, 0.33},
		{1e8, plan.DefaultMachine(), "prefix", [2]int{1, 1}, 26},
		{1e9, plan.DefaultMachine(), "prefix", [2]int{6, 8}, 261},
		{1e9, gpu, "prefix", [2]int{6, 8}, 261}, // a card would save none
	} {
		r := mustPlan(t, feedOf(c.posts), c.machine)
		if r.Engine != c.engine || r.Workers < c.workers[0] || r.Workers > c.workers[1] || r.Rows != 1 {
			t.Errorf("%g posts a day: got %d workers in %d rows by %s, want %v by %s", c.posts, r.Workers, r.Rows, r.Engine,
				c.workers, c.engine)
		}
		if got := r.Memory / 1e9; math.Abs(got-c.gigabytes) > 0.05*c.gigabytes {
			t.Errorf("%g posts a day: got %.3g GB, want %.3g", c.posts, got, c.gigabytes)
		}
	}
}

// TestPeakOfTheDesign: at 10^9 posts a day every thread of every worker reads some 13 MB/s and 44 k sentences a second at the
// peak.
func TestPeakOfTheDesign(t *testing.T) {
	r := mustPlan(t, feedOf(1e9), plan.DefaultMachine())
	read := r.NetworkOut / float64(r.Workers*r.WorkerPartitions)
	if r.Sentences < 40e3 || r.Sentences > 60e3 || read < 10e6 || read > 16e6 {
		t.Errorf("got %.0f sentences/s, %.3g bytes/s", r.Sentences, read)
	}
}

// TestGrid: where the network allows a worker less than the feed, the look-ups are cut into rows.
func TestGrid(t *testing.T) {
	m := plan.DefaultMachine()
	m.Network = 6e6
	r := mustPlan(t, feedOf(1e9), m)
	if r.Rows < 2 || r.NetworkPerWorker > 6e6 {
		t.Errorf("got %d rows of %d, %.3g bytes/s", r.Rows, r.Columns, r.NetworkPerWorker)
	}
	if !slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "grid") }) {
		t.Errorf("no word of the grid: %q", r.Warnings)
	}
	near(t, "memory", r.Memory, 70e6*float64(r.Workers)+r.WindowBytes*1.08*float64(r.Rows))
}

// TestPlainBeforeGrid: what refrain serve can run is planned, though a grid would take fewer workers, and the grid is named;
// where nothing else would do it is planned, and said that it cannot be run.
func TestPlainBeforeGrid(t *testing.T) {
	f := feedOf(2e9)
	f.Span = time.Hour
	plain := mustPlan(t, f, plan.DefaultMachine())
	if !plain.IsRunnable || plain.Rows != 1 || plain.Grid == nil || plain.Grid.Rows < 2 ||
		4*plain.Grid.Rows*plain.Grid.Columns > 3*plain.Workers {
		t.Errorf("got %+v, grid %+v", plain, plain.Grid)
	}
	grid := mustPlan(t, feedOf(1e10), plan.DefaultMachine())
	if grid.IsRunnable || grid.Rows < 2 || !slices.ContainsFunc(grid.Warnings, func(s string) bool { return strings.Contains(s, "cannot run") }) {
		t.Errorf("got %d rows, warnings %q", grid.Rows, grid.Warnings)
	}
}

// TestHandOverOnPaper: half the window of two workers.
func TestHandOverOnPaper(t *testing.T) {
	f, m, c := simple()
	f.PostsPerDay *= 3
	c.Kafka.ReadMicros, c.InsertMicros, c.InsertGrowth, c.RestoreMicros = 2, 4, 0.5, 1
	r, err := plan.Plan(f, m, c)
	if err != nil {
		t.Fatal(err)
	}
	replay := 2 + 4*math.Sqrt(3*4.32/float64(r.Partitions)) // µs, in so many million rows
	near(t, "its worker returns", r.HandOver.Return, 3*8.64e6/2*replay*1e-6/float64(r.WorkerPartitions))
	near(t, "with a snapshot", r.HandOver.Restore, 3*8.64e6/2*1e-6/float64(r.WorkerPartitions))
	near(t, "the other takes all", r.HandOver.Others, 3*8.64e6/2*replay*1e-6)
}

// TestBrokerOnPaper: a broker's costs are those of several workers only.
func TestBrokerOnPaper(t *testing.T) {
	f, m, c := simple()
	c.Kafka = plan.BrokerCost{ReadMicros: 100, TakeMicros: 1000, HandMicros: 10}
	one, err := plan.Plan(f, m, c)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "of one worker", one.BrokerCores, 0)
	near(t, "its reading", one.ReadShare, 100*50e-6)
	f.PostsPerDay *= 3
	two, err := plan.Plan(f, m, c)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "of several", two.BrokerCores, 300*(1000+float64(two.Partitions)*10)*1e-6)
	near(t, "their reading", two.ReadShare, 300*100e-6)
}

// change makes a plan need more, or no less, of something.
type change struct {
	name string
	more func(*plan.Feed, *plan.Machine, float64)
}

var harder = []change{
	{"posts", func(f *plan.Feed, _ *plan.Machine, x float64) { f.PostsPerDay *= x }},
	{"peak", func(f *plan.Feed, _ *plan.Machine, x float64) { f.PeakFactor *= x }},
	{"span", func(f *plan.Feed, _ *plan.Machine, x float64) { f.Span = time.Duration(float64(f.Span) * x) }},
	{"lateness", func(f *plan.Feed, _ *plan.Machine, x float64) { f.Lateness = time.Duration(float64(f.Lateness) * x) }},
	{"threshold", func(f *plan.Feed, _ *plan.Machine, x float64) { f.Threshold = max(0.3, f.Threshold/x) }},
	{"tokens", func(f *plan.Feed, _ *plan.Machine, x float64) { f.TokensPerSentence = min(256, f.TokensPerSentence*x) }},
	{"distinct", func(f *plan.Feed, _ *plan.Machine, x float64) { f.DistinctShare = min(1, f.DistinctShare*x) }},
	{"sentences", func(f *plan.Feed, _ *plan.Machine, x float64) { f.SentencesPerPost *= x }},
	{"text", func(f *plan.Feed, _ *plan.Machine, x float64) { f.TextBytes *= x }},
	{"fewer cores", func(_ *plan.Feed, m *plan.Machine, x float64) { m.Cores = max(1, int(float64(m.Cores)/x)) }},
	{"less memory", func(_ *plan.Feed, m *plan.Machine, x float64) { m.Memory /= x }},
	{"slower network", func(_ *plan.Feed, m *plan.Machine, x float64) { m.Network /= x }},
	{"fewer GPUs", func(_ *plan.Feed, m *plan.Machine, x float64) { m.GPUs = int(float64(m.GPUs) / x) }},
}

// drawn is a feed and a machine of any size.
func drawn(t *rapid.T) (plan.Feed, plan.Machine) {
	f, m := plan.DefaultFeed(), plan.DefaultMachine()
	f.PostsPerDay = math.Pow(10, rapid.Float64Range(2, 8.5).Draw(t, "log posts"))
	f.Span = time.Duration(math.Pow(10, rapid.Float64Range(-1, 2.8).Draw(t, "log hours")) * float64(time.Hour))
	f.Threshold = rapid.Float64Range(0.45, 1).Draw(t, "threshold")
	f.DistinctShare = rapid.Float64Range(0.1, 1).Draw(t, "distinct")
	f.TokensPerSentence = rapid.Float64Range(4, 60).Draw(t, "tokens")
	m.Cores = rapid.IntRange(4, 64).Draw(t, "cores")
	m.Memory = 1e9 * rapid.Float64Range(4, 512).Draw(t, "GB")
	m.GPUs = rapid.IntRange(0, 4).Draw(t, "GPUs")
	return f, m
}

// TestMonotone: what is harder never takes fewer workers, nor less memory. Where it takes rows that the easier did
// not, it may take fewer: what all workers read for themselves is then shared.
func TestMonotone(t *testing.T) {
	for _, c := range harder {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f, m := drawn(t)
				easy := mustPlan(t, f, m)
				c.more(&f, &m, rapid.Float64Range(1, 4).Draw(t, "factor"))
				hard, err := plan.Plan(f, m, plan.DefaultCosts())
				if err != nil || easy.Rows != hard.Rows {
					return
				}
				if hard.Workers < easy.Workers {
					t.Fatalf("%d workers, and %d when it is harder:\n%+v\n%+v", easy.Workers, hard.Workers, easy, hard)
				}
				if easy.Engine == hard.Engine && c.name != "distinct" && hard.Memory < easy.Memory*(1-1e-9) {
					t.Fatalf("%g bytes, and %g when it is harder", easy.Memory, hard.Memory)
				}
			})
		})
	}
}

// TestLimitsHold: whatever is planned keeps within the machine's limits, and its parts add up.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, m := drawn(t)
		r := mustPlan(t, f, m)
		if r.MemoryAtBudget < r.WindowBudget || r.MemoryAtBudget < r.MemoryPerWorker || r.MemoryAtBudget > m.Memory {
			t.Fatalf("memory %g, budget %g, memory at the budget %g of %g", r.MemoryPerWorker, r.WindowBudget,
				r.MemoryAtBudget, m.Memory)
		}
		if r.MemoryPerWorker > m.Memory*m.MemoryShare || r.NetworkPerWorker > m.Network || r.Utilisation > plan.Utilisation {
			t.Fatalf("beyond the machine: %+v", r)
		}
		if r.Workers != r.Rows*r.Columns || r.Partitions != r.Columns*r.WorkerPartitions || r.WorkerPartitions > m.Cores {
			t.Fatalf("%d workers in %d × %d, %d partitions, %d a worker", r.Workers, r.Rows, r.Columns, r.Partitions,
				r.WorkerPartitions)
		}
		held := 0.0
		for _, s := range r.MemoryBy {
			held += s.Value
		}
		if math.Abs(held-r.Memory) > 1e-6*r.Memory {
			t.Fatalf("parts of the memory make %g, and it is %g", held, r.Memory)
		}
		if !(r.LatencyP50 > 0 && r.LatencyP99 > r.LatencyP50) || math.IsInf(r.LatencyP99, 0) {
			t.Fatalf("latency %g, %g", r.LatencyP50, r.LatencyP99)
		}
		if r.Alternatives[0].Engine != r.Engine {
			t.Fatalf("alternatives %+v, chosen %s", r.Alternatives, r.Engine)
		}
	})
}

// TestMoreCardsThanPartitions: a card without a partition is not counted.
func TestMoreCardsThanPartitions(t *testing.T) {
	m := plan.DefaultMachine()
	m.GPUs = 4
	for _, a := range mustPlan(t, feedOf(1e6), m).Alternatives {
		if a.Engine == "cuda" && (a.Workers != 1 || a.GPUs != 1) {
			t.Errorf("one partition is enough: %+v", a)
		}
	}
}

func TestSmallFeedNeedsNoGPU(t *testing.T) {
	m := plan.DefaultMachine()
	m.GPUs = 1
	if r := mustPlan(t, feedOf(1e6), m); r.GPUs != 0 {
		t.Errorf("got %d GPUs by %s", r.GPUs, r.Engine)
	}
}

// TestCardsTakePartitions: partitions are dealt to cards whole, so a card counts where there is a partition for it, and the
// busiest one has as many as the division leaves.
func TestCardsTakePartitions(t *testing.T) {
	seen := map[int]bool{}
	for gpus := 1; gpus <= 6; gpus++ {
		f, m := feedOf(1e9), plan.DefaultMachine()
		f.Span, f.Threshold = 7*24*time.Hour, 0.6
		m.GPUs, m.GPUMemory, m.Memory = gpus, 141e9, 256e9
		r := mustPlan(t, f, m)
		if r.Engine != "cuda" {
			continue
		}
		cards := min(gpus, r.WorkerPartitions)
		if r.GPUs != cards*r.Workers {
			t.Errorf("%d GPUs a machine: %d in %d workers of %d partitions, want %d each", gpus, r.GPUs, r.Workers,
				r.WorkerPartitions, cards)
		}
		onCard := (r.WorkerPartitions + cards - 1) / cards
		seen[onCard*cards-r.WorkerPartitions] = true
		rows := float64(onCard) * r.WindowRows / float64(r.Columns*r.WorkerPartitions)
		for _, load := range r.Loads {
			if load.Name == plan.CardBytes {
				near(t, "memory of a GPU", load.Value, rows*(4+64/8)/(0.9*141e9))
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("partitions that lack to fill the last card: %v, want none and some", seen)
	}
}

func TestTextsLeftOut(t *testing.T) {
	f := feedOf(1e7)
	with := mustPlan(t, f, plan.DefaultMachine())
	f.Texts = false
	without := mustPlan(t, f, plan.DefaultMachine())
	near(t, "texts", with.WindowBytes-without.WindowBytes, with.WindowRows*(90+8))
}

// TestShortSpan: a window of an hour is sized for the busiest hour, a longer one for what joins it to the mean day.
func TestShortSpan(t *testing.T) {
	f := feedOf(24e6)
	f.SentencesPerPost, f.Lateness = 1, 0
	f.Span = time.Hour * 16 / 17
	near(t, "an hour", mustPlan(t, f, plan.DefaultMachine()).WindowSentences, 4e6)
	f.Span = 6 * time.Hour * 16 / 17
	near(t, "six hours", mustPlan(t, f, plan.DefaultMachine()).WindowSentences, 24e6*math.Pow(0.25, 1-math.Log(4)/math.Log(24)))
	f.Span = 10 * 24 * time.Hour * 16 / 17
	near(t, "ten days", mustPlan(t, f, plan.DefaultMachine()).WindowSentences, 240e6)
}

func TestRefused(t *testing.T) {
	f, m := plan.DefaultFeed(), plan.DefaultMachine()
	f.Threshold, f.PeakFactor, f.Bits, m.Cores = 1.5, 0.5, 48, 0
	_, err := plan.Plan(f, m, plan.DefaultCosts())
	for _, want := range []string{"PostsPerDay 0", "Threshold 1.5", "PeakFactor 0.5", "Bits 48", "Cores 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	f, m = feedOf(math.NaN()), plan.DefaultMachine()
	if _, err := plan.Plan(f, m, plan.DefaultCosts()); err == nil {
		t.Error("NaN posts a day are planned for")
	}
	if _, err := plan.Plan(feedOf(1e14), plan.DefaultMachine(), plan.DefaultCosts()); err == nil ||
		!strings.Contains(err.Error(), "shorten the span") {
		t.Errorf("10^14 posts a day: got %v", err)
	}
}

// TestWait compares the quantiles of the queue with those of one that is simulated: never much too short.
func TestWait(t *testing.T) {
	for _, rho := range []float64{0.3, 0.6, 0.9} {
		random, wait := rand.New(rand.NewPCG(1, 2)), 0.0
		waits := make([]float64, 400_000)
		for i := range waits {
			waits[i] = wait
			wait = max(0, wait+1-random.ExpFloat64()/rho) // Lindley: service 1, arrivals at rate ρ
		}
		slices.Sort(waits)
		want, got := waits[len(waits)*99/100], plan.Wait(0.99, rho, 1)
		if got < 0.95*want || got > 1.5*want {
			t.Errorf("busy %v: 99 in 100 wait at most %.3f, simulated %.3f", rho, got, want)
		}
	}
	if got := plan.Wait(0.5, 0.4, 1); got != 0 {
		t.Errorf("the median waits %v where most do not wait", got)
	}
}

// TestLowerThresholdNeverCheaper: in small windows the fit of one threshold falls below that of a higher one.
func TestLowerThresholdNeverCheaper(t *testing.T) {
	for posts := 100.; posts < 1e7; posts *= 10 {
		before := 0.
		for threshold := 1.; threshold > 0.3; threshold -= 0.05 {
			f := feedOf(posts)
			f.Threshold = threshold
			r := mustPlan(t, f, plan.DefaultMachine())
			if r.LookupMicros < before {
				t.Errorf("%g posts a day, threshold %.2f: %v µs a look-up, and %v at 0.05 above", posts, threshold,
					r.LookupMicros, before)
			}
			before = r.LookupMicros
		}
	}
}
