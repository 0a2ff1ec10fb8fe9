package siege

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// attempt is one attack of one attacker.
type attempt struct {
	name       string
	begin, end time.Time
}

// A spell is a time in which honest posts waited for longer than this. Two that lie closer together are one.
const (
	longWait = 3 * time.Second
	spellGap = 5 * time.Second
)

type spell struct {
	begin, end time.Time // when the posts were due
	longest    time.Duration
}

// spells are when the events of honest posts, or the answers to them, came late.
func spells(h *honest, f *follower) (all []spell) {
	var waits []arrival
	for i, at := range h.times {
		waits = append(waits, arrival{due: at.Add(-h.delays[i]), at: at})
	}
	f.mu.Lock()
	waits = append(waits, f.came...)
	f.mu.Unlock()
	slices.SortFunc(waits, func(a, b arrival) int { return a.due.Compare(b.due) })
	for _, w := range waits {
		wait := w.at.Sub(w.due)
		if wait < longWait {
			continue
		}
		if n := len(all); n == 0 || w.due.Sub(all[n-1].end) > spellGap {
			all = append(all, spell{begin: w.due})
		}
		last := &all[len(all)-1]
		last.end, last.longest = w.due, max(last.longest, wait)
	}
	return all
}

// logSpells says when honest posts waited, and what the attackers did then.
func logSpells(t *testing.T, begin time.Time, all []spell, attackers []*attacker) {
	t.Helper()
	for _, s := range all {
		var under []string
		for _, a := range attackers {
			for _, x := range a.attempts {
				if x.begin.Before(s.end) && x.end.After(s.begin.Add(-spellGap)) {
					under = append(under, x.name)
				}
			}
		}
		slices.Sort(under)
		t.Logf("%8s  honest posts wait for %s, at most %s, beside: %s", s.begin.Sub(begin).Round(time.Second),
			s.end.Sub(s.begin).Round(time.Second), s.longest.Round(100*time.Millisecond), strings.Join(slices.Compact(under), ", "))
	}
}
