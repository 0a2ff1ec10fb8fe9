package server

import (
	"math"
	"time"

	"refrain/topic"
)

// usage is how fast a topic grows. The rate is that of the last hour, so that a burst of minutes is what it is: a part of
// the hour; and never that of less than ten minutes.
type usage struct {
	samples []usageSample // of the last hour, the oldest first
}

const (
	usageSpan    = time.Hour
	minUsageSpan = 10 * time.Minute
)

type usageSample struct {
	at       time.Time
	appended float64 // bytes
	dropped  int64   // messages
}

// observe adds a sample. The first of a process stands for the hour before it too: what the topic holds came in evenly.
func (u *usage) observe(now time.Time, s topic.Size) {
	if age := now.Sub(s.Oldest); len(u.samples) == 0 && !s.Oldest.IsZero() && age > 0 {
		before := min(age, usageSpan)
		u.samples = append(u.samples, usageSample{
			now.Add(-before), float64(s.Appended) - float64(s.Bytes)*before.Seconds()/age.Seconds(), s.Dropped,
		})
	}
	u.samples = append(u.samples, usageSample{now, float64(s.Appended), s.Dropped})
	for len(u.samples) > 2 && now.Sub(u.samples[1].at) >= usageSpan {
		u.samples = u.samples[1:]
	}
}

// rate is bytes a second.
func (u *usage) rate() float64 {
	if len(u.samples) == 0 {
		return 0
	}
	first, last := u.samples[0], u.samples[len(u.samples)-1]
	return max(0, last.appended-first.appended) / max(last.at.Sub(first.at), minUsageSpan).Seconds()
}

// purged reports whether records were dropped in the last hour.
func (u *usage) purged() bool {
	return len(u.samples) > 0 && u.samples[len(u.samples)-1].dropped > u.samples[0].dropped
}

// forecast is what becomes of a topic if as much goes on to be appended as in the last hour, and each record stays for as
// long as it is needed.
type forecast struct {
	Rate      float64       // bytes/s
	Retention time.Duration // how long a record stays
	Needed    float64       // bytes that the topic comes to hold
	Hours     float64       // until it is full; +Inf: it never is
	Purged    bool          // records went in the last hour because nothing needed them
}

// predict assumes that a record stays for retention. In a topic that was purged in the last hour its oldest record decides:
// a replay of years in an hour needs its records for seconds, and a source that holds the window back needs them longer.
func (u *usage) predict(now time.Time, s topic.Size, retention time.Duration, purges bool) forecast {
	age := time.Duration(0)
	if !s.Oldest.IsZero() {
		age = max(0, now.Sub(s.Oldest))
	}
	purged := purges && u.purged()
	if purged {
		retention = age
	} else if purges {
		retention = max(retention, age)
	}
	f := forecast{Rate: u.rate(), Retention: retention, Purged: purged}
	f.Needed = f.Rate * retention.Seconds()
	f.Hours = hoursToFull(float64(s.Bytes), float64(s.MaxBytes), f.Rate, age.Seconds(), retention.Seconds())
	return f
}

// hoursToFull follows the bytes of a topic: it grows by all that is appended until its oldest record is no longer needed,
// then by that less what goes, which came in evenly over its age; and once all of that is gone it stays as it is.
func hoursToFull(bytes, limit, rate, age, retention float64) float64 {
	const hour = 3600
	if limit <= 0 {
		return math.Inf(1)
	}
	if free := limit - bytes; free <= min(maxRecordBytes, limit/100) {
		return 0 // also where nothing is appended any more because of it
	} else if rate <= 0 {
		return math.Inf(1)
	} else if all := max(0, retention-age); free <= rate*all {
		return free / rate / hour
	} else if rate*retention > limit {
		// Here rate is above what goes, bytes/age: else bytes would be above limit.
		return (all + (free-rate*all)/(rate-bytes/max(age, 1))) / hour
	}
	return math.Inf(1)
}

// maxRecordBytes is the largest record: a topic without room for one is full.
const maxRecordBytes = 1 << 20
