package prefix

import "refrain/hashcodes"

// filters are what the threshold allows, by sizes.
type filters struct {
	bounds   *hashcodes.Bounds
	buckets  buckets
	bySize   [hashcodes.MaxSize + 1]*filter
	computed int // of bySize
}

// buckets cut the sizes so that those that go with any one size are in few of them: the largest size of a bucket goes
// with the first, and is at most maxSpread times as large.
const maxSpread = 1.25

type buckets struct{ of [lastSize + 1]uint8 }

// filter says what the partners of a set of n tokens must be like, by the code of their size.
type filter struct {
	limit   [lastSize + 1]uint8          // the signatures' least distance that is too far; 0: no partners of this size
	overlap [lastSize + 1]uint8          // least number of common tokens, capped
	low     uint8                        // bucket of the smallest
	high    [hashcodes.MaxSize + 1]uint8 // bucket of the largest, if the set has a key that passes over so many tokens
	passed  [nodeLinks]uint8             // tokens that a key of theirs may pass over, by bucket, capped
}

func newFilters(bounds *hashcodes.Bounds) *filters {
	f := &filters{bounds: bounds}
	bucket, first := 0, 1
	for m := 1; m <= lastSize; m++ {
		if (m > bounds.For(first).Max || float64(m) > maxSpread*float64(first)) && bucket < nodeLinks-1 {
			bucket, first = bucket+1, m
		}
		f.buckets.of[m] = uint8(bucket)
	}
	return f
}

func (f *filters) of(n int) *filter {
	if f.bySize[n] == nil {
		f.bySize[n] = f.compute(n)
		f.computed++
	}
	return f.bySize[n]
}

func (f *filters) compute(n int) *filter {
	b, out := f.bounds.For(n), new(filter)
	out.low = f.buckets.of[sizeCode(b.Min)]
	for i, radius := range b.Radius {
		m := sizeCode(b.Min + i)
		overlap := int(b.Overlap[i])
		bucket := f.buckets.of[m]
		for passed := 0; passed <= n-overlap; passed++ {
			out.high[passed] = max(out.high[passed], bucket)
		}
		out.passed[bucket] = max(out.passed[bucket], uint8(min(b.Min+i-overlap, lastPassed)))
		limit := uint8(min(int(radius)+1, signatureBits+1))
		if m == lastSize { // two sizes: what holds for either
			limit, overlap = max(limit, out.limit[m]), overlap-1
		}
		out.limit[m], out.overlap[m] = limit, uint8(overlap)
	}
	return out
}

// bytes: 896 is what Go's allocator gives for a filter, 2,688 for this.
func (f *filters) bytes() int64 { return 2688 + 896*int64(f.computed) }
