package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"refrain/feed"
)

// source is one source partition: it hands on batches, one after the other, and an unacknowledged one again.
type source struct {
	name        string
	busy        bool        // a Write of it is under way
	pending     *delivery   // to be written, or written again
	acked       []*delivery // that may be delivered once more
	futurePosts int         // posts dated in the future so far
	posts       []feed.Post // for further versions
	silent      int         // turns without posts

	writer  *writer
	level   feed.Time     // the newest that its own clock can have got to
	quiet   time.Duration // without posts, as its writer counts
	dropped bool          // it may count as idle: the window may have gone on without it
}

// delivery is a batch that goes out as one.
type delivery struct {
	posts     []feed.Post
	original  []feed.Post // as they were before they were stamped
	oldest    feed.Time   // of the posts in time
	again     bool        // acknowledged before
	anew      bool        // and stamped once more since
	hasFuture bool        // one is dated in the future, and keeps its time
}

// feeder makes the posts. newest is the newest time that any source's clock can have got to.
type feeder struct {
	*rand.Rand
	newest  feed.Time
	created int
}

// level is what the next posts of s may be lateness behind: the newest that any clock can have got to, or, while the
// window waits for s, its own, but not more than maxHold behind the others.
func (f *feeder) level(w *world, s *source) feed.Time {
	if !w.plan.Apart || s.dropped {
		return f.newest
	}
	return max(s.level, f.newest.Add(-w.plan.MaxHold))
}

// batch makes a batch of posts whose times lie between level - lateness and limit; level then moves to the last.
// A batch may be longer than lateness: its own posts are all in the topic before its source's clock covers them.
// While such a one is on its way the others may have nothing that they could write: then batch returns nil.
func (f *feeder) batch(w *world, s *source, limit feed.Time) *delivery {
	level := f.level(w, s)
	from := level.Add(-w.plan.Lateness)
	to := min(limit, level.Add(f.advance(w)))
	if w.plan.Live {
		to = min(limit, f.live(w, level))
	}
	if to < from {
		return nil
	}
	d := &delivery{oldest: to}
	for range 1 + f.IntN(5) {
		p := f.post(s)
		p.Time, p.Timed = f.time(from, to), true
		f.special(w, s, d, &p, limit)
		if p.Timed && p.Time <= to {
			d.oldest = min(d.oldest, p.Time)
		}
		d.posts = append(d.posts, p)
	}
	d.original = slices.Clone(d.posts)
	f.newest, s.level = max(f.newest, to), max(s.level, level, to)
	s.posts = append(s.posts, d.posts...)
	return d
}

// live is the present, or, where sources may be apart, often no more than where the source is.
func (f *feeder) live(w *world, level feed.Time) feed.Time {
	now := max(level, feed.FromTime(w.now))
	if !w.plan.Apart || f.IntN(8) == 0 {
		return now
	}
	return min(now, level.Add(f.advance(w)))
}

func (f *feeder) advance(w *world) time.Duration {
	if w.plan.Apart && f.IntN(12) == 0 {
		return time.Duration(f.Int64N(int64(w.plan.MaxHold)))
	}
	switch f.IntN(4) {
	case 0:
		return 0
	case 1:
		return time.Duration(f.IntN(15*60)) * time.Second
	}
	return time.Duration(f.IntN(3*60)) * time.Second
}

// time prefers the ends of what is allowed.
func (f *feeder) time(from, to feed.Time) feed.Time {
	switch f.IntN(4) {
	case 0:
		return from
	case 1:
		return to
	}
	return from + feed.Time(f.Int64N(int64(to-from)+1))
}

// special makes some posts further versions, some dated in the future, some without a time of their own.
func (f *feeder) special(w *world, s *source, d *delivery, p *feed.Post, limit feed.Time) {
	now := feed.FromTime(w.now)
	switch f.IntN(12) {
	case 0:
		if len(s.posts) > 0 {
			p.ID = s.posts[f.IntN(len(s.posts))].ID
		}
	case 1:
		switch {
		case w.plan.Live && now <= limit: // replaced: the wall clock is near, and three of these move a clock there
			p.Time = now.Add(maxFutureSkew + f.futureSkew())
			f.newest, s.level = max(f.newest, now), max(s.level, now)
		case !w.plan.Live && s.futurePosts < 2: // two never move a clock that asks for three
			s.futurePosts++
			d.hasFuture = true
			p.Time = f.newest.Add(time.Duration(f.IntN(600)) * time.Minute)
		}
	case 2, 3, 4:
		if w.plan.Live && now <= limit {
			p.Time, p.Timed = 0, false
			f.newest, s.level = max(f.newest, now), max(s.level, now)
		}
	}
}

// maxFutureSkew is how far ahead of the present a post keeps its time.
const maxFutureSkew = time.Minute

// futureSkew is how far in the future a post is dated that is replaced: by so little, now and then, that it is not when
// it is sent again.
func (f *feeder) futureSkew() time.Duration {
	if f.IntN(2) == 0 {
		return time.Duration(1+f.IntN(60)) * time.Second
	}
	return time.Duration(1+f.IntN(600)) * time.Minute
}

// sendAnew gives posts without a usable time back the one that they came with: they are sent once more by somebody who
// has had no answer. It is false where that cannot be now.
func (f *feeder) sendAnew(w *world, s *source, d *delivery) bool {
	now, limit := feed.FromTime(w.now), w.limit(s)
	if !w.plan.Live || now > limit {
		return false
	}
	for i, p := range d.original {
		switch {
		case !p.Timed || p.Time > now.Add(maxFutureSkew):
			d.posts[i] = p
		case d.posts[i].Adjusted && p.Time >= max(now, f.newest.Add(-w.plan.Lateness)) && p.Time <= limit: // its time has come
			d.posts[i] = p
			f.newest, s.level = max(f.newest, p.Time), max(s.level, p.Time)
		}
	}
	f.newest, s.level = max(f.newest, now), max(s.level, now)
	return true
}

func (f *feeder) post(s *source) feed.Post {
	f.created++
	var sentences []string
	for range 1 + f.IntN(2) {
		sentences = append(sentences, f.sentence())
	}
	return feed.Post{Source: s.name, ID: fmt.Sprintf("p%d", f.created), Author: fmt.Sprintf("%s/%d", s.name, f.created%3),
		Text: strings.Join(sentences, "\n")}
}

// sentence is one of few, often with a word changed: 9 of 11 words are enough for 0.8, two changes are too many.
func (f *feeder) sentence() string {
	if f.IntN(8) == 0 {
		return "too short"
	}
	template, words := f.IntN(4), make([]string, 10)
	for i := range words {
		words[i] = fmt.Sprintf("word%c%c", 'a'+template, 'a'+i)
	}
	if f.IntN(2) == 0 {
		words[f.IntN(10)] = fmt.Sprintf("other%c", 'a'+f.IntN(3))
	}
	return strings.Join(words, " ")
}
