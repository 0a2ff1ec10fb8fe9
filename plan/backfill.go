package plan

import (
	"math"
	"time"
)

// Archive is posts of the past, of a Feed whose PostsPerDay are the mean day's of the archive. See package backfill.
type Archive struct {
	Posts     float64       `json:"posts"`     // in all
	Slice     time.Duration `json:"slice"`     // what is worked on at once, by one core
	KeepFirst bool          `json:"keepFirst"` // posts that repeat nothing are written again
	Within    time.Duration `json:"within"`    // how long it may take, on as many machines as that needs
}

// DefaultArchive is a billion posts, to be done in a day.
func DefaultArchive() Archive {
	return Archive{Posts: 1e9, Slice: 7 * day, Within: day}
}

// Backfill is what an archive takes.
type Backfill struct {
	Engine  string  `json:"engine"`  // that finds the candidates
	Days    float64 `json:"days"`    // that the archive covers
	Slices  float64 `json:"slices"`  // with posts
	AtOnce  int     `json:"atOnce"`  // slices that a machine works on side by side
	Columns int     `json:"columns"` // passes over a slice, where the window of one does not fit

	PostMicros  float64 `json:"postMicros"`  // µs of a core for a post, run-ins apart
	RunInMicros float64 `json:"runInMicros"` // and for a post of a run-in, of which there are span/slice a post
	CoreHours   float64 `json:"coreHours"`   // of all posts, run-ins apart
	RunInHours  float64 `json:"runInHours"`  // core hours of the run-ins
	Machines    int     `json:"machines"`    // to be done within the time
	Hours       float64 `json:"hours"`       // on so many machines
	OneHours    float64 `json:"oneHours"`    // on one

	WindowRows  float64 `json:"windowRows"`  // distinct sentences in the window of a slice
	WindowBytes float64 `json:"windowBytes"` // of one slice, of one pass
	Memory      float64 `json:"memory"`      // bytes of a machine

	RunBytes   float64 `json:"runBytes"`   // on disk until it is done: the posts, sorted and compressed, of all machines
	EventBytes float64 `json:"eventBytes"` // of events
	PostBytes  float64 `json:"postBytes"`  // of posts that are written again, at most
	Disk       float64 `json:"disk"`       // of all machines, at most
}

// PlanBackfill says what an archive takes on such machines. It fails as Plan does.
func PlanBackfill(a Archive, f Feed, m Machine, c Costs) (Backfill, error) {
	if wrong := append(append(f.mistakes(), m.mistakes(c)...), a.mistakes()...); len(wrong) > 0 {
		return Backfill{}, wrong
	}
	f.PeakFactor = 1 // nobody waits for the busiest hour
	var best Backfill
	for _, e := range []engine{prefixEngine{}, scanEngine{}} {
		b := a.plan(&workload{f, m, c, e})
		if best.Engine == "" || b.CoreHours+b.RunInHours < best.CoreHours+best.RunInHours {
			best = b
		}
	}
	if best.Machines == 0 {
		return best, ErrTooLarge
	}
	return best, nil
}

func (a Archive) mistakes() (m Mistakes) {
	m.want(a.Posts >= 1 && a.Posts <= 1e15, "Posts", a.Posts, "1 to 10^15")
	m.want(a.Slice >= time.Second, "Slice", a.Slice, "1s or more")
	m.want(a.Within > 0, "Within", a.Within, "more than 0")
	return m
}

func (a Archive) plan(w *workload) Backfill {
	f := w.feed
	b := Backfill{Engine: w.engine.name(), Days: a.Posts / f.PostsPerDay}
	b.WindowRows = min(f.windowRows(), a.Posts*f.SentencesPerPost*f.DistinctShare)
	b.Slices = math.Ceil(b.Days * float64(day) / float64(a.Slice))
	b.fit(w)
	b.times(a, w)
	b.RunBytes = a.runBytes(w) * (1 + a.runIn(w)*float64(min(1, b.Machines-1))) // each machine has the run-ins of its slices
	b.EventBytes = a.Posts * f.SentencesPerPost * f.EventsPerSentence * (w.costs.EventBytes + 2*f.TextBytes)
	if a.KeepFirst {
		b.PostBytes = a.Posts * f.PostBytes
	}
	b.Disk = b.RunBytes + b.EventBytes + b.PostBytes
	return b
}

// runBytes is what all posts take in runs: nothing where they fit in memory.
func (a Archive) runBytes(w *workload) float64 {
	bytes, share, copies := a.Posts*w.feed.PostBytes, w.costs.RunShare, 1.0
	if a.KeepFirst {
		share, copies = w.costs.RunShareKept, 2
	}
	if copies*bytes <= w.costs.SortBytes {
		return 0
	}
	return share * bytes
}

// fit finds how many windows a machine holds side by side, or into how many columns one has to be cut.
func (b *Backfill) fit(w *workload) {
	window := b.WindowRows * sum(w.memory())
	room := (w.machine.Memory*w.machine.MemoryShare - w.costs.ProcessBytes - w.costs.SortBytes) / (1 + w.costs.Garbage)
	b.AtOnce, b.Columns = int(min(float64(w.machine.Cores), b.Slices, max(1, math.Floor(room/window)))), 1
	if window > room {
		b.Columns = int(math.Ceil(window / max(room, 1)))
	}
	b.WindowBytes = window / float64(b.Columns)
	b.Memory = w.held(b.WindowBytes*float64(b.AtOnce)) + w.costs.SortBytes
}

// times: a post is gathered once, and in each pass merged, split and looked up. One in a run-in is merged, split and inserted.
// Every machine reads the whole archive, and works on its part of the slices.
func (b *Backfill) times(a Archive, w *workload) {
	f, c, passes := w.feed, w.costs, float64(b.Columns)
	inserted := f.SentencesPerPost * c.BackfillInsertMicros
	pass := c.MergeMicros + f.SentencesPerPost*w.engine.core(w, b.WindowRows/passes)
	b.RunInMicros = passes*c.MergeMicros + inserted
	b.PostMicros = c.GatherMicros + passes*pass + inserted + f.SentencesPerPost*f.EventsPerSentence*c.BackfillEventMicros
	const micros = 3600e6 // of an hour
	gather := a.Posts * c.GatherMicros / micros
	b.CoreHours, b.RunInHours = a.Posts*b.PostMicros/micros, a.Posts*a.runIn(w)*b.RunInMicros/micros
	rest := (b.CoreHours - gather + b.RunInHours) / float64(b.AtOnce)
	gather /= float64(w.machine.Cores)
	b.OneHours = gather + rest
	within := a.Within.Hours() - gather
	if within <= 0 {
		return
	}
	if machines := math.Ceil(rest / within); machines <= b.Slices {
		b.Machines, b.Hours = max(1, int(machines)), gather+rest/max(1, machines)
	}
}

// runIn is how many posts of run-ins there are for each post.
func (a Archive) runIn(w *workload) float64 { return float64(w.feed.Span) / float64(a.Slice) }
