package server

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"refrain/topic"
)

// simulated follows a topic second by second: what was there came in evenly.
func simulated(bytes, limit, rate, age, retention float64) float64 {
	const step = 10.
	for at := 0.; at < 3*(retention+age)+step; at += step {
		now := bytes + rate*at
		if age > 0 { // of what is there now
			now -= bytes * min(1, max(0, at-max(0, retention-age))/age)
		}
		now -= rate * max(0, at-max(retention, age)) // of what came since
		if now >= limit {
			return at / 3600
		}
	}
	return math.Inf(1)
}

// TestHoursToFull compares the formula with a topic that is followed in time.
func TestHoursToFull(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	full, never := 0, 0
	for range 2000 {
		limit := 1e9 * (1 + 9*random.Float64())
		bytes, rate := limit*0.98*random.Float64(), limit/100_000*2*random.Float64()
		retention := 90_000 * (0.1 + random.Float64())
		age := retention * random.Float64()
		got, want := hoursToFull(bytes, limit, rate, age, retention), simulated(bytes, limit, rate, age, retention)
		if math.Abs(rate*retention/limit-1) < 0.01 {
			continue // too near to call
		}
		if math.IsInf(want, 1) {
			never++
		} else {
			full++
		}
		if got != want && !(math.Abs(got-want) < 0.02+0.01*want) {
			t.Fatalf("bytes %.3g of %.3g, %.3g/s, age %.0f, kept %.0f: %.2f h, want %.2f", bytes, limit, rate, age, retention,
				got, want)
		}
	}
	if full < 200 || never < 200 {
		t.Errorf("%d become full, %d never: want many of both", full, never)
	}
}

func TestHoursToFullOfFullAndIdle(t *testing.T) {
	for _, c := range []struct {
		name                               string
		bytes, limit, rate, age, retention float64
		want                               float64
	}{
		{"no limit", 1e9, 0, 1e6, 10, 10, math.Inf(1)},
		{"nothing appended", 1e9, 2e9, 0, 10, 10, math.Inf(1)},
		{"empty", 0, 3600, 0, 0, 10, math.Inf(1)},
		{"empty, filling", 0, 3.6e9, 1e6, 0, 90_000, 1},
		{"full and nothing appended, for that is why", 2e9 - 1000, 2e9, 0, 10, 10, 0},
		{"what is needed fits", 1e9, 2e9, 1e6, 1000, 1000, math.Inf(1)},
	} {
		if got := hoursToFull(c.bytes, c.limit, c.rate, c.age, c.retention); got != c.want {
			t.Errorf("%s: %v hours, want %v", c.name, got, c.want)
		}
	}
}

// TestUsageRate: the rate is that of the last hour, a burst counts for its part of it, and a process that begins goes by
// what the topic holds.
func TestUsageRate(t *testing.T) {
	begin := time.Unix(1e9, 0)
	var u usage
	u.observe(begin, topic.Size{Bytes: 7_200_000, Oldest: begin.Add(-2 * time.Hour)})
	if got := u.rate(); got != 1000 {
		t.Errorf("at the start %v bytes/s, want 1000: 7.2 MB of two hours", got)
	}
	appended := int64(0)
	for minute := range 180 {
		appended += 60 * 2000
		if minute == 150 {
			appended += 3600 * 1000 // an hour's worth at 1000/s, at once
		}
		u.observe(begin.Add(time.Duration(minute+1)*time.Minute), topic.Size{Appended: appended})
		if minute == 149 && u.rate() != 2000 {
			t.Errorf("after hours at 2000: %v", u.rate())
		}
	}
	if got := u.rate(); got != 3000 {
		t.Errorf("with a burst: %v bytes/s, want 3000", got)
	}
	var first usage
	first.observe(begin, topic.Size{})
	first.observe(begin.Add(time.Minute), topic.Size{Appended: 600_000})
	if got := first.rate(); got != 1000 {
		t.Errorf("in the first minute: %v bytes/s, want 1000: never over less than ten minutes", got)
	}
	if n := len(u.samples); n > 62 {
		t.Errorf("%d samples are kept of an hour", n)
	}
}

// TestPredictGoesByWhatIsPurged: how long records are needed is the window's span until the topic shows it.
func TestPredictGoesByWhatIsPurged(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Unix(1e9, 0)
	at := func(age time.Duration, dropped ...int64) forecast {
		var u usage
		s := topic.Size{Bytes: 1e9, MaxBytes: 50e9, Oldest: now.Add(-age)}
		for i, d := range dropped {
			s.Dropped, s.Appended = d, int64(i)*60e6
			u.observe(now.Add(time.Duration(i-len(dropped)+1)*time.Minute), s)
		}
		return u.predict(now, s, day, true)
	}
	for name, c := range map[string]struct{ got, want time.Duration }{
		"filling":            {at(time.Hour, 5, 5, 5).Retention, day},
		"a replay of years":  {at(time.Minute, 5, 6, 7).Retention, time.Minute},
		"a source holds it":  {at(2*day, 5, 5, 5).Retention, 2 * day},
		"held, purged again": {at(2*day, 5, 5, 6).Retention, 2 * day},
	} {
		if c.got != c.want {
			t.Errorf("%s: records are kept for %v, want %v", name, c.got, c.want)
		}
	}
}
