package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStatusMakesWayForEvents(t *testing.T) {
	var screen bytes.Buffer
	o := Options{Live: true, Width: columnsWide(30)}
	s := NewStatus(&screen, o)
	p := NewPrinter(&screen, o, s)
	m := matches()[1]
	s.Set("12 posts/s")
	if err := p.Line(&m); err != nil {
		t.Fatal(err)
	}
	s.Set("a line that is much too long for thirty columns")
	s.Clear()
	if err := p.Line(&m); err != nil {
		t.Fatal(err)
	}
	golden(t, "status", strings.ReplaceAll(screen.String(), "\r", "\\r"))
}

func TestStatusIsSilentElsewhere(t *testing.T) {
	var out bytes.Buffer
	s := NewStatus(&out, Options{})
	s.Set("12 posts/s")
	NewProgress(s, 10).Update(5, 5)
	s.Clear()
	if out.Len() > 0 {
		t.Errorf("got %q, want nothing", out.String())
	}
	var none *Status
	none.Set("x")
	NewProgress(none, 10).Update(1, 1)
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		p := NewProgress(NewStatus(&screen, Options{Live: true}), 40_000_000)
		p.Update(0, 0)
		p.Update(1, 1) // too soon to draw
		<-time.After(2 * time.Second)
		p.Update(10_000_000, 96_420)
		<-time.After(6 * time.Second)
		p.Update(40_000_000, 385_680)
		p.Done()
		unknown := NewProgress(NewStatus(&screen, Options{Live: true}), 0)
		<-time.After(time.Second)
		unknown.Update(1500, 10)
		want := []string{
			"0 % · 0 B of 40.0 MB",
			"25 % · 10.0 MB of 40.0 MB · 48,210 posts/s · 6 s left",
			"100 % · 40.0 MB of 40.0 MB · 48,210 posts/s",
			"",
			"1.5 kB · 10 posts/s",
		}
		if diff := cmp.Diff(want, strings.Split(screen.String(), erase)[1:]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestStatistics(t *testing.T) {
	s := Statistics{PostsPerSecond: 1234.9, Posts: 5, Sentences: 45678, Events: 1000000, RSS: 123_456_789}
	want := "1,234 posts/s · 5 posts · 45,678 sentences in the window · 1,000,000 events · 123 MB"
	if got := s.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Millisecond: "5 ms", 59 * time.Second: "59 s",
		3*time.Minute + 12*time.Second: "3 min 12 s", 25 * time.Hour: "1 d 1 h", 90 * time.Minute: "1 h 30 min"} {
		if got := brief(d); got != want {
			t.Errorf("brief(%v) = %s, want %s", d, got, want)
		}
	}
}
