package plan_test

import (
	"errors"
	"testing"
	"time"

	"refrain/plan"
)

func archived(t *testing.T, change func(*plan.Archive, *plan.Feed, *plan.Machine)) plan.Backfill {
	t.Helper()
	a, f, m := plan.DefaultArchive(), plan.DefaultFeed(), plan.DefaultMachine()
	f.PostsPerDay = 3e6
	change(&a, &f, &m)
	b, err := plan.PlanBackfill(a, f, m, plan.DefaultCosts())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBackfill: what is larger takes more, and each way out costs what it should.
func TestBackfill(t *testing.T) {
	usual := archived(t, func(*plan.Archive, *plan.Feed, *plan.Machine) {})
	if usual.CoreHours < 2 || usual.CoreHours > 8 || usual.Machines != 1 || usual.Columns != 1 || usual.Slices != 48 {
		t.Errorf("a billion posts: %+v", usual)
	}
	twice := archived(t, func(a *plan.Archive, _ *plan.Feed, _ *plan.Machine) { a.Posts *= 2 })
	if twice.CoreHours != 2*usual.CoreHours || twice.RunInHours != 2*usual.RunInHours || twice.Disk != 2*usual.Disk ||
		twice.Memory != usual.Memory {
		t.Errorf("twice the posts: %+v, once %+v", twice, usual)
	}
	longer := archived(t, func(a *plan.Archive, _ *plan.Feed, _ *plan.Machine) { a.Slice *= 2 })
	if longer.RunInHours != usual.RunInHours/2 || longer.CoreHours != usual.CoreHours {
		t.Errorf("longer slices: %+v, else %+v", longer, usual)
	}
	kept := archived(t, func(a *plan.Archive, _ *plan.Feed, _ *plan.Machine) { a.KeepFirst = true })
	if kept.RunBytes <= usual.RunBytes || kept.RunBytes >= kept.PostBytes || usual.RunBytes <= 0 {
		t.Errorf("with posts: %+v, without %+v", kept, usual)
	}
	small := archived(t, func(a *plan.Archive, _ *plan.Feed, _ *plan.Machine) { a.Posts = 1e5 })
	if small.RunBytes != 0 || small.Disk != small.EventBytes {
		t.Errorf("posts that fit in memory: %+v", small)
	}
	soon := archived(t, func(a *plan.Archive, _ *plan.Feed, _ *plan.Machine) { a.Within = 8 * time.Minute })
	if soon.Machines < 2 || soon.Hours > 8./60 || soon.OneHours != usual.OneHours {
		t.Errorf("sooner: %+v, else %+v", soon, usual)
	}
	large := archived(t, func(a *plan.Archive, f *plan.Feed, m *plan.Machine) {
		f.Span, a.Slice, a.Posts, m.Memory, a.Within = 365*24*time.Hour, 3650*24*time.Hour, 1e8, 8e9, 1e4*time.Hour
	})
	if large.Columns < 2 || large.AtOnce != 1 || large.WindowBytes > 8e9 || large.Memory > 0.8*8e9 ||
		large.PostMicros < usual.PostMicros {
		t.Errorf("a window that does not fit: %+v", large)
	}
}

func TestBackfillMistakes(t *testing.T) {
	f := plan.DefaultFeed()
	_, err := plan.PlanBackfill(plan.Archive{}, f, plan.DefaultMachine(), plan.DefaultCosts())
	var wrong plan.Mistakes
	if !errors.As(err, &wrong) || len(wrong) != 4 { // posts a day, posts, slice, within
		t.Errorf("got %v", err)
	}
	f.PostsPerDay = 1e6
	a := plan.DefaultArchive()
	a.Within = time.Second
	if _, err := plan.PlanBackfill(a, f, plan.DefaultMachine(), plan.DefaultCosts()); !errors.Is(err, plan.ErrTooLarge) {
		t.Errorf("a billion posts in a second: %v", err)
	}
}
