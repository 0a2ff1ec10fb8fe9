package models

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a window of which only the texts and the codes matter here: those of a service are tested with the service.
type shelf struct {
	mu          sync.Mutex
	sets        [][]uint64
	model, next *hashcodes.Model
	left        int  // texts until the codes have changed
	full        bool // there is no room for a change
	searches    Searches
	begun       chan struct{} // if not nil: told of a change that begins, which waits for it
}

func (s *shelf) Model() *hashcodes.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

func (s *shelf) Recode(to *hashcodes.Model) {
	if s.begun != nil {
		s.begun <- struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.left = to, len(s.sets)
}

func (s *shelf) RecodeSome(texts int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left -= texts; s.left > 0 && !s.full {
		return true
	}
	if !s.full {
		s.model = s.next
	}
	return false
}

func (s *shelf) Sets(from sigstore.Row, n int, visit func([]uint64)) (sigstore.Row, bool) {
	to := min(len(s.sets), int(from.Row)+n)
	for _, set := range s.sets[from.Row:to] {
		visit(set)
	}
	return sigstore.Row{Row: uint32(to)}, to < len(s.sets)
}

func (s *shelf) Searches() Searches { return s.searches }

// shelves hold texts of few frequent words, of which codes learned make more than hashes do.
func shelves(base *hashcodes.Model, texts int) (list []*shelf) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		s := &shelf{model: base}
		for range texts {
			var set []uint64
			for range 8 {
				set = append(set, uint64(r.ExpFloat64()*30))
			}
			s.sets = append(s.sets, text.Set(set))
		}
		list = append(list, s)
	}
	return list
}

// with is the default configuration, changed, of a keeper that learns only when it is told to.
func with(change func(*Config)) Config {
	cfg := Default()
	cfg.Every, cfg.Drift = 0, 0
	change(&cfg)
	return cfg
}

func mustKeeper(tb testing.TB, cfg Config, list []*shelf) *Keeper {
	tb.Helper()
	cfg.Measure, cfg.Logger = text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), quiet
	if cfg.Registry == nil {
		cfg.Registry = mustRegistry(tb, tb.TempDir(), "4/5")
	}
	for _, s := range list {
		cfg.Windows = append(cfg.Windows, s)
	}
	k, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// run runs k until the end of the test.
func run(tb testing.TB, k *Keeper) {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = k.Run(ctx) })
	tb.Cleanup(func() { stop(); wg.Wait() })
}

// await lets the bubble's time pass until nothing is done any more.
func await(k *Keeper) Status {
	for k.Status().Doing != nothing {
		time.Sleep(time.Second)
	}
	return k.Status()
}

func TestAModelIsLearnedTakenOnAndTakenBack(t *testing.T) {
	synctest.Test(t, aModelIsLearnedTakenOnAndTakenBack)
}

func aModelIsLearnedTakenOnAndTakenBack(t *testing.T) {
	base := mustModel(t, "base")
	list := shelves(base, 600)
	k := mustKeeper(t, with(func(c *Config) { c.MinSentences, c.Vocabulary = 500, 100 }), list)
	run(t, k)
	if err := k.Learn(); err != nil {
		t.Fatal(err)
	}
	s := await(k)
	if s.Current != 1 || s.Changed != 2 || len(s.Models) != 2 {
		t.Fatalf("after learning: %+v", s)
	}
	if m := s.Models[1]; m.After >= m.Before || m.Sentences < 500 {
		t.Errorf("taken on: %+v", m)
	}
	for _, w := range list {
		if d := w.Model().Description(); d.Learner != "direct" || d.Bits != 32 {
			t.Errorf("a window has the codes of %s", w.Model().Name())
		}
	}
	if err := k.Use(0); err != nil {
		t.Fatal(err)
	}
	if s := await(k); s.Current != 0 || list[0].Model() != k.cfg.Registry.base || list[1].Model() != k.cfg.Registry.base {
		t.Errorf("after going back: %+v", s)
	}
	if err := k.Use(5); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown model: %v", err)
	}
}

// TestWhatIsNoBetterIsNotTakenOn: too few texts, and then a second training on the same texts.
func TestWhatIsNoBetterIsNotTakenOn(t *testing.T) { synctest.Test(t, whatIsNoBetterIsNotTakenOn) }

func whatIsNoBetterIsNotTakenOn(t *testing.T) {
	list := shelves(mustModel(t, "base"), 600)
	k := mustKeeper(t, with(func(c *Config) { c.MinSentences, c.Vocabulary = 100_000, 100 }), list)
	run(t, k)
	learn := func() Status {
		if err := k.Learn(); err != nil {
			t.Fatal(err)
		}
		return await(k)
	}
	if s := learn(); s.Current != 0 || !strings.Contains(s.Detail, "too few") {
		t.Errorf("of too few texts: %+v", s)
	}
	k.cfg.MinSentences = 500
	learn()
	if s := learn(); s.Current != 1 || !strings.Contains(s.Detail, "stays") {
		t.Errorf("learned twice: %+v", s)
	}
}

func TestOneThingAtATime(t *testing.T) { synctest.Test(t, oneThingAtATime) }

func oneThingAtATime(t *testing.T) {
	list := shelves(mustModel(t, "base"), 10)
	list[0].begun = make(chan struct{})
	registry := mustRegistry(t, t.TempDir(), "4/5")
	if _, err := registry.Add(mustModel(t, "learned", 3), Entry{}); err != nil {
		t.Fatal(err)
	}
	k := mustKeeper(t, with(func(c *Config) { c.Registry = registry }), list)
	run(t, k)
	if err := k.Use(1); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []func() error{k.Learn, func() error { return k.Use(0) }} {
		if err := ask(); !errors.Is(err, ErrBusy) {
			t.Errorf("while a model is taken on: %v, want %v", err, ErrBusy)
		}
	}
	if s := k.Status(); s.Doing != changing {
		t.Errorf("doing %s, want %s", s.Doing, changing)
	}
	<-list[0].begun
	await(k)
	if err := k.Use(9); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown model: %v", err)
	}
}

// TestADamagedModelIsNotTakenOn: whoever asks for it hears what is wrong with which file, and the model in use stays.
func TestADamagedModelIsNotTakenOn(t *testing.T) {
	dir := t.TempDir()
	registry := mustRegistry(t, dir, "4/5")
	for p := range uint8(2) {
		if _, err := registry.Add(mustModel(t, "learned", p), Entry{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Truncate(filepath.Join(dir, "1.model"), 30),
		os.Remove(filepath.Join(dir, "2.model"))); err != nil {
		t.Fatal(err)
	}
	k := mustKeeper(t, with(func(c *Config) { c.Registry = registry }), shelves(registry.base, 10))
	for id := 1; id <= 2; id++ {
		var damage *FileError
		err := k.Use(id)
		if !errors.As(err, &damage) || damage.ID != id || strings.Contains(err.Error(), dir) {
			t.Errorf("use model %d: %v, want what is wrong with its file, without the folder", id, err)
			continue
		}
		if s := k.Status(); s.Current != 0 || s.Doing != nothing || s.Detail != err.Error() {
			t.Errorf("after %v: %+v", err, s)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "2.model"), 0o700); err != nil { // stands for what only the system knows
		t.Fatal(err)
	}
	var damage *FileError
	if err := k.Use(2); err == nil || errors.As(err, &damage) || strings.Contains(err.Error(), dir) {
		t.Errorf("use a folder as model 2: %v, want the system's error, without the folder's name", err)
	}
}

func TestAWindowWithoutRoomIsTold(t *testing.T) { synctest.Test(t, aWindowWithoutRoomIsTold) }

func aWindowWithoutRoomIsTold(t *testing.T) {
	registry := mustRegistry(t, t.TempDir(), "4/5")
	if _, err := registry.Add(mustModel(t, "learned", 3), Entry{}); err != nil {
		t.Fatal(err)
	}
	list := shelves(registry.base, 1000)
	list[1].full = true
	k := mustKeeper(t, with(func(c *Config) { c.Registry = registry }), list)
	run(t, k)
	if err := k.Use(1); err != nil {
		t.Fatal(err)
	}
	if s := await(k); s.Changed != 1 || s.Windows != 2 || !strings.Contains(s.Detail, "1 of 2 windows have no room") {
		t.Errorf("%+v", s)
	}
	if err := k.Use(0); err != nil { // which the window without room has
		t.Fatal(err)
	}
	if s := await(k); s.Changed != 2 || strings.Contains(s.Detail, "no room") {
		t.Errorf("back again: %+v", s)
	}
}

// TestAWindowThatHadNoRoomGetsTheModelLater: when there is room, the next training hands it the model in use first, and
// is measured against that.
func TestAWindowThatHadNoRoomGetsTheModelLater(t *testing.T) {
	synctest.Test(t, aWindowThatHadNoRoomGetsTheModelLater)
}

func aWindowThatHadNoRoomGetsTheModelLater(t *testing.T) {
	list := shelves(mustModel(t, "base"), 600)
	list[0].full, list[1].full = true, true
	k := mustKeeper(t, with(func(c *Config) { c.MinSentences, c.Vocabulary = 500, 100 }), list)
	run(t, k)
	learn := func() Status {
		if err := k.Learn(); err != nil {
			t.Fatal(err)
		}
		return await(k)
	}
	if s := learn(); s.Current != 1 || s.Changed != 0 {
		t.Errorf("without room: %+v", s)
	}
	if s := learn(); s.Current != 1 || s.Changed != 0 || !strings.Contains(s.Detail, "no room") {
		t.Errorf("still without room: %+v", s)
	}
	list[0].full, list[1].full = false, false
	if s := learn(); s.Changed != 2 || list[0].Model().Description().Learner != "direct" || list[0].Model() != list[1].Model() {
		t.Errorf("with room: %+v", s)
	}
}

// TestNothingToGain: where look-ups have hardly a false candidate nothing is learned by the schedule.
func TestNothingToGain(t *testing.T) { synctest.Test(t, nothingToGain) }

func nothingToGain(t *testing.T) {
	wide, err := hashcodes.NewMD5(256, 1)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := OpenRegistry(t.TempDir(), wide, "4/5", quiet)
	if err != nil {
		t.Fatal(err)
	}
	k := mustKeeper(t, with(func(c *Config) { c.Registry, c.Every, c.MinSentences = registry, time.Hour, 500 }),
		shelves(wide, 600))
	run(t, k)
	time.Sleep(90 * time.Minute)
	if s := await(k); s.Current != 0 || !strings.Contains(s.Detail, "too few to gain anything") {
		t.Errorf("%+v", s)
	}
}

// TestStopsInTheMidst: a training under way holds nobody up who wants to stop.
func TestStopsInTheMidst(t *testing.T) {
	k := mustKeeper(t, with(func(c *Config) { c.MinSentences = 500 }), shelves(mustModel(t, "base"), 6000))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- k.Run(ctx) }()
	if err := k.Learn(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(k.Status().Detail, "round") {
		runtime.Gosched()
	}
	stop()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second): // it would go on for minutes
		t.Error("the training goes on")
	}
}

// TestWhenAModelIsDue: by the schedule, counted from the last training also over a restart, and by drift, but not at once
// again.
func TestWhenAModelIsDue(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	list := shelves(mustModel(t, "base"), 10)
	k := mustKeeper(t,
		with(func(c *Config) { c.Every, c.Drift, c.Now = 24*time.Hour, 2, func() time.Time { return now } }), list)
	var whys []string
	at := func(after time.Duration, falseCandidates, lookups int64) {
		now = start.Add(after)
		list[0].searches = Searches{Candidates: falseCandidates + 7, Similar: 7, Texts: 1000}
		list[1].searches = Searches{Lookups: lookups, Texts: 1000}
		whys = append(whys, k.due(now))
	}
	at(0, 0, 0)
	at(10*time.Minute, 2000, 1000)   // 2 in vain
	at(20*time.Minute, 6000, 2000)   // 4: it has drifted, but the service has just begun
	at(61*time.Minute, 6900, 2001)   // too few in vain for a new measure, and now it may
	at(62*time.Minute, 8000, 3000)   // 2 again
	at(90*time.Minute, 14_000, 4000) // 6
	at(91*time.Minute, 14_900, 4010) // too soon for a new measure
	at(24*time.Hour, 16_000, 5000)   // 2
	want := []string{"", "", "", "drift", "", "drift", "drift", "schedule"}
	if !slices.Equal(whys, want) {
		t.Errorf("due: %q, want %q", whys, want)
	}
}

// TestTheScheduleOutlivesRestarts: it counts from the last training, or from the first start.
func TestTheScheduleOutlivesRestarts(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	list := shelves(mustModel(t, "base"), 10)
	dir := t.TempDir()
	if err := mustRegistry(t, dir, "4/5").SetTried(start); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ now, next time.Duration }{
		{0, 24 * time.Hour}, {23 * time.Hour, 24 * time.Hour}, {100 * time.Hour, 100*time.Hour + minFirstDelay},
		{-time.Hour, 23 * time.Hour},
	} {
		now := start.Add(c.now)
		k := mustKeeper(t, with(func(c *Config) {
			c.Registry, c.Every, c.Now = mustRegistry(t, dir, "4/5"), 24*time.Hour, func() time.Time { return now }
		}), list)
		if got := k.Status().Next.Sub(start); got != c.next {
			t.Errorf("started %v after the last training, the next is due %v after it, want %v", c.now, got, c.next)
		}
	}
}

// TestALostModelIsTold: that the model in use could not be read stands in the status until something else is done.
func TestALostModelIsTold(t *testing.T) { synctest.Test(t, aLostModelIsTold) }

func aLostModelIsTold(t *testing.T) {
	dir := t.TempDir()
	add(t, mustRegistry(t, dir, "4/5"), 3)
	if err := os.Remove(filepath.Join(dir, "1.model")); err != nil {
		t.Fatal(err)
	}
	r := mustRegistry(t, dir, "4/5")
	k := mustKeeper(t, with(func(c *Config) { c.Registry = r }), shelves(r.InUse(quiet), 10))
	run(t, k)
	const want = "the model in use cannot be read: 1.model: no such file or directory; that of the configuration is used"
	if s := k.Status(); s.Detail != want || s.Doing != nothing || s.Current != 0 {
		t.Errorf("after the start: %+v", s)
	}
	if err := k.Use(0); err != nil {
		t.Fatal(err)
	}
	if s := await(k); strings.Contains(s.Detail, "cannot be read") {
		t.Errorf("after another model was asked for: %+v", s)
	}
}
