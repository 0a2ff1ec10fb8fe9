package chaos

import (
	"maps"
	"time"
)

// counters are the sums over all processes. One that was killed begins anew at 0, so they are compared over a time in which
// nothing happens to anybody.
func (d *deployment) counters() map[string]int {
	d.t.Helper()
	sum := map[string]int{}
	for _, n := range d.all() {
		for name, value := range n.Counters() {
			sum[name] += int(value)
		}
	}
	return sum
}

// atRest are the counters once they stand still: partitions may be on their way to another worker of a process, which looks
// up a little again.
func (d *deployment) atRest() map[string]int {
	d.t.Helper()
	before := d.balance(nil)
	for quiet := 0; quiet < 3; quiet++ {
		time.Sleep(500 * time.Millisecond)
		if now := d.balance(nil); !maps.Equal(now, before) {
			before, quiet = now, 0
		}
	}
	return before
}

// balance is what has been counted since before.
func (d *deployment) balance(before map[string]int) map[string]int {
	d.t.Helper()
	now, since := d.counters(), map[string]int{}
	for _, name := range []string{
		"refrain_ingest_posts_total/accepted", "refrain_ingest_posts_total/rejected", "refrain_split_sentences_total", "refrain_split_unconfirmed_sentences_total",
		"refrain_sigstore_sentences_total/inserted", "refrain_sigstore_sentences_total/repeat",
		"refrain_sigstore_sentences_total/too_short", "refrain_sigstore_sentences_total/deleted", "refrain_shard_lookups_total",
	} {
		since[name] = now[name] - before[name]
	}
	return since
}

// wantBalance wants every post and every sentence of so many posts that were sent since to be counted once, as what became of
// it, and every look-up: that of a sentence in each partition but, of a redelivery, the one that knows it.
func (d *deployment) wantBalance(before map[string]int, posts int) {
	d.t.Helper()
	c := d.atRest()
	for name := range c {
		c[name] -= before[name]
	}
	inserted, repeats := c["refrain_sigstore_sentences_total/inserted"], c["refrain_sigstore_sentences_total/repeat"]
	sentences := inserted + repeats + c["refrain_sigstore_sentences_total/too_short"] + c["refrain_sigstore_sentences_total/deleted"]
	if got := c["refrain_ingest_posts_total/accepted"] + c["refrain_ingest_posts_total/rejected"]; got != posts {
		d.t.Errorf("%d posts accepted or rejected, want %d", got, posts)
	}
	// Of an append that was made again some may be there twice.
	again := c["refrain_split_unconfirmed_sentences_total"]
	if got := c["refrain_split_sentences_total"]; got == 0 || sentences < got || sentences > got+again {
		d.t.Errorf("%d sentences of posts, %d again, and %d that something became of: %v", got, again, sentences, c)
	}
	if got, want := c["refrain_shard_lookups_total"], inserted*partitions+repeats*(partitions-1); got != want {
		d.t.Errorf("%d look-ups, want %d: %v", got, want, c)
	}
}
