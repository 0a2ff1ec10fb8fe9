package quota

// The limits of a bucket each.
const (
	bytes = iota
	posts
	sentences
	events
	share
	limits
)

var limitNames = [limits]string{"bytes", "posts", "sentences", "events", LimitShare}

// bucket is one limit, as the moment at which the bucket is full again if nothing more is taken: in seconds since the
// start. So an idle one is known by that moment being past, and says no more than one that was never used.
//
// golang.org/x/time/rate has buckets too. They refuse to be charged with more than a burst at once, and take nine words.
type bucket float64

// owed is how many seconds it takes until the bucket is no longer below empty, 0 or less where it is not.
func (b bucket) owed(now, burst float64) float64 { return float64(b) - now - burst }

func (b *bucket) charge(now, amount, rate float64) {
	if rate > 0 {
		*b = bucket(max(float64(*b), now) + amount/rate)
	}
}

// buckets are those of a sender or of a source.
type buckets [limits]bucket

// owed is the limit that takes longest until it is met again, and how many seconds; 0 where all are met.
func (b *buckets) owed(of Limits, now float64, bursts [limits]float64) (limit int, wait float64) {
	if b == nil {
		return 0, 0
	}
	for i, rate := range of.rates() {
		if w := b[i].owed(now, bursts[i]); rate > 0 && w > wait {
			limit, wait = i, w
		}
	}
	return limit, wait
}

func (b *buckets) charge(of Limits, now float64, u Usage) {
	amounts := [limits]int64{u.Bytes, u.Posts, u.Sentences, u.Events, u.Bytes}
	for i, rate := range of.rates() {
		b[i].charge(now, float64(amounts[i]), rate)
	}
}

func (b *buckets) idle(now float64) bool {
	for i := range b {
		if float64(b[i]) > now {
			return false
		}
	}
	return true
}

func (l *Limits) rates() [limits]float64 {
	return [limits]float64{l.Bytes, l.Posts, l.Sentences, l.Events, l.Share}
}
