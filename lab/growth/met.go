package growth

import (
	"cmp"
	"slices"

	"refrain/text"
)

// Met is how many entries of a size that fits a look-up meets, on the average, in an index whose keys are so many
// tokens, one or two: an exact one posts a sentence under those of its rarest tokens, one more of them than must differ
// for each token of a key. The rows asked, in ascending order, are looked up, and the others posted. Tokens are numbers
// below so many.
func Met(rows [][]uint32, asked []int, tokens int, t text.Threshold, keyTokens int) float64 {
	m := meter{threshold: t, keyTokens: keyTokens, frequency: make([]uint32, tokens), entries: map[uint64]*sizeCounts{}}
	isAsked := make([]bool, len(rows))
	for _, row := range asked {
		isAsked[row] = true
	}
	for row, set := range rows {
		if !isAsked[row] {
			m.count(set)
		}
	}
	for _, row := range asked {
		m.each(rows[row], func(key uint64) { m.entries[key] = new(sizeCounts) })
	}
	for row, set := range rows {
		if !isAsked[row] {
			m.each(set, func(key uint64) { m.post(key, len(set)) })
		}
	}
	met := 0
	for _, row := range asked {
		met += m.met(rows[row])
	}
	return float64(met) / float64(max(1, len(asked)))
}

// sizeCounts are entries by the size of their sentence.
type sizeCounts [text.MaxTokens + 1]uint32

type meter struct {
	threshold text.Threshold
	keyTokens int
	frequency []uint32
	entries   map[uint64]*sizeCounts // of the keys that are asked for
	prefix    []uint32
}

func (m *meter) count(set []uint32) {
	for _, t := range set {
		m.frequency[t]++
	}
}

func (m *meter) post(key uint64, size int) {
	if counts := m.entries[key]; counts != nil {
		counts[size]++
	}
}

func (m *meter) met(set []uint32) (n int) {
	low, high := text.Jaccard.At(m.threshold).Sizes(len(set))
	m.each(set, func(key uint64) {
		for _, count := range m.entries[key][low : min(high, text.MaxTokens)+1] {
			n += int(count)
		}
	})
	return n
}

// each visits the keys of a set.
func (m *meter) each(set []uint32, visit func(key uint64)) {
	prefix := m.rarest(set)
	for i, a := range prefix {
		if m.keyTokens == 1 {
			visit(uint64(a))
			continue
		}
		for _, b := range prefix[:i] {
			visit(uint64(a)<<32 | uint64(b))
		}
	}
}

func (m *meter) rarest(set []uint32) []uint32 {
	m.prefix = append(m.prefix[:0], set...)
	slices.SortFunc(m.prefix, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(m.frequency[a], m.frequency[b]), cmp.Compare(a, b))
	})
	least, _ := text.Jaccard.At(m.threshold).Sizes(len(set))
	return m.prefix[:min(len(set), len(set)-least+m.keyTokens)]
}
