package backfill

import (
	"math"

	"refrain/text"
)

// writePosts writes the posts of a batch that are kept.
func (p *pass) writePosts(b *batch) error {
	if p.posts == nil || !p.last || b.runIn {
		return nil
	}
	var record []byte
	for i := range b.posts {
		if b.repeatsBy(i, p.cfg.Coverage) {
			continue
		}
		record = append(record[:0], b.raws[i]...)
		if err := p.posts.write(record, 1); err != nil {
			return err
		}
	}
	return nil
}

// repeatsBy reports whether sentences of post i that repeat something have at least such a share of its tokens. Tokens are
// counted: shares of a third each would not add up to 1.
func (b *batch) repeatsBy(i int, coverage text.Threshold) bool {
	covered := 0
	for n := b.firsts[i]; n < b.firsts[i+1]; n++ {
		if b.repeats[n] {
			covered += b.tokensOf(i, n)
		}
	}
	return covered > 0 && int64(covered)*int64(coverage.Den) >= int64(b.tokens[i])*int64(coverage.Num)
}

// tokensOf is the number of tokens of sentence n of post i. Its coverage is their share of the post's, as a float32, which of
// fewer than 2²³ is exact enough to tell them.
func (b *batch) tokensOf(i, n int) int {
	return int(math.Round(float64(b.sentences[n].Coverage) * float64(b.tokens[i])))
}
