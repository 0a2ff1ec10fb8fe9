package demo

import (
	"context"
	"iter"
	"time"

	"refrain/feed"
)

// Pacer holds posts back until their time has come. Time runs Speed times as fast as the clock on the wall
// from the first post on. A Pacer that is behind does not wait until it has caught up.
type Pacer struct {
	Speed   float64       // feed time for wall time; 0 or less: never wait
	Longest time.Duration // longest pause between two posts; 0: any

	last feed.Time // greatest time of a post so far
	due  time.Time // when that post was due
}

// Wait returns when a post of time t is due, or with the context's error when that ends. A post that is older
// than one before it is due at once.
func (p *Pacer) Wait(ctx context.Context, t feed.Time) error {
	if p.Speed <= 0 {
		return ctx.Err()
	}
	if p.due.IsZero() {
		p.last, p.due = t, time.Now()
	}
	if t > p.last {
		p.due = p.due.Add(p.pause(t - p.last))
		p.last = t
	}
	return sleepUntil(ctx, p.due)
}

func (p *Pacer) pause(gap feed.Time) time.Duration {
	pause := time.Duration(min(float64(gap)*float64(time.Millisecond)/p.Speed, float64(1<<62)))
	if p.Longest > 0 {
		pause = min(pause, p.Longest)
	}
	return pause
}

func sleepUntil(ctx context.Context, due time.Time) error {
	wait := time.Until(due)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Replay yields posts when they are due. Errors among them pass at once; when ctx ends, its error comes last.
func Replay(ctx context.Context, p Pacer, posts iter.Seq2[feed.Post, error]) iter.Seq2[feed.Post, error] {
	return func(yield func(feed.Post, error) bool) {
		pacer := p
		for post, err := range posts {
			if err != nil {
				if !yield(feed.Post{}, err) {
					return
				}
				continue
			}
			if err := pacer.Wait(ctx, post.Time); err != nil {
				yield(feed.Post{}, err)
				return
			}
			if !yield(post, nil) {
				return
			}
		}
	}
}
