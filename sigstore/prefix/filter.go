package prefix

import "refrain/hashcodes"

// filters are what the threshold allows, by sizes.
type filters struct {
	bounds   *hashcodes.Bounds
	buckets  buckets
	bySize   [hashcodes.MaxSize + 1]*filter
	computed int // of bySize
}

// filter says what the partners of a set of n tokens must be like, by the code of their size.
type filter struct {
	limit   [lastSize + 1]uint8 // the signatures' least distance that is too far; 0: no partners of this size
	overlap [lastSize + 1]uint8 // least number of common tokens, capped

	// By the tokens that a key of the set passes over, capped: the slots of a node by size that may have a partner,
	// and, by the slot of that, those of a node by cell.
	sizes [nodeLinks]slots
	cells [nodeLinks][nodeLinks]slots
}

func newFilters(bounds *hashcodes.Bounds) *filters {
	return &filters{bounds: bounds, buckets: newBuckets(bounds)}
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
	for i, radius := range b.Radius {
		m := sizeCode(b.Min + i)
		overlap := int(b.Overlap[i])
		out.allow(&f.buckets, m, n-overlap, b.Min+i-overlap)
		limit := uint8(min(int(radius)+1, signatureBits+1))
		if m == lastSize { // two sizes: what holds for either
			limit, overlap = max(limit, out.limit[m]), overlap-1
		}
		out.limit[m], out.overlap[m] = limit, uint8(overlap)
	}
	return out
}

// allow lets partners of a size pass, if the set's key passes over at most own tokens, and theirs over at most other.
func (f *filter) allow(b *buckets, size uint8, own, other int) {
	bucket := b.of[size]
	cells := b.upTo(size, other)
	for passed := range min(own, lastPassed) + 1 {
		f.sizes[passed].add(bucket)
		f.cells[passed][bucket] |= cells
	}
}

// bytes: 1,152 is what Go's allocator gives for a filter, 3,072 for this.
func (f *filters) bytes() int64 { return 3072 + 1152*int64(f.computed) }
