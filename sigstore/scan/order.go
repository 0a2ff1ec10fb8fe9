package scan

import (
	"math"
	"math/bits"
	"slices"

	"refrain/hashcodes"
)

// order is how the rows of a sealed band are sorted: by their weight, then by the weight of their first half. Rows
// that agree in both are a class.
//
// Let a signature have D ones more than the query, and E more in its first half, thus D−E more in the second. It
// differs in at least |E| + |D−E| bits, and that is at most r iff (D−r)/2 <= E <= (D+r)/2. So for each of the 2r+1
// weights within the radius the classes to be read are one run of positions.
type order struct {
	lightest, lightestHalf int      // weight and half weight of the first class
	width                  int      // classes of a weight, and 1
	starts                 []uint16 // of the classes, by weight and half weight; then the end of the weight
}

// run is the positions from from on and below to.
type run struct{ from, to int }

// weights counts the ones of a signature, and of its first half: of the words, or of the bits of a single word.
func weights(word func(w int) uint32, words int) (all, half int) {
	if words == 1 {
		return bits.OnesCount32(word(0)), bits.OnesCount16(uint16(word(0)))
	}
	for w := range words {
		all += bits.OnesCount32(word(w))
		if w == words/2-1 {
			half = all
		}
	}
	return all, half
}

func weightsOf(s hashcodes.Signature) (all, half int) {
	return weights(func(w int) uint32 { return s[w] }, len(s))
}

func weightsAt(planes [][]uint32, position int) (all, half int) {
	return weights(func(w int) uint32 { return planes[w][position] }, len(planes))
}

// class is the number of a row's class.
func (o *order) class(planes [][]uint32, position int) int {
	all, half := weightsAt(planes, position)
	return (all-o.lightest)*o.width + half - o.lightestHalf
}

// measure finds the weights that the rows of open bands have.
func (o *order) measure(open []band) (heaviest, heaviestHalf int) {
	o.lightest, o.lightestHalf = math.MaxInt, math.MaxInt
	for i := range open {
		for k := range open[i].rows {
			all, half := weightsAt(open[i].planes, k)
			o.lightest, heaviest = min(o.lightest, all), max(heaviest, all)
			o.lightestHalf, heaviestHalf = min(o.lightestHalf, half), max(heaviestHalf, half)
		}
	}
	return heaviest, heaviestHalf
}

// count sets where the classes of the rows of open bands start, and returns a copy of that.
func (o *order) count(open []band) []uint16 {
	heaviest, heaviestHalf := o.measure(open)
	o.width = heaviestHalf - o.lightestHalf + 2
	o.starts = make([]uint16, (heaviest-o.lightest+1)*o.width)
	for i := range open {
		for k := range open[i].rows {
			o.starts[o.class(open[i].planes, k)+1]++
		}
	}
	for i := 1; i < len(o.starts); i++ {
		o.starts[i] += o.starts[i-1]
	}
	return slices.Clone(o.starts)
}

// runs appends the runs of positions that rows within the radius of a query may have. It reads on over a gap that is
// shorter than what another pass costs.
func (o *order) runs(dst []run, q *boundedQuery, radius, gap int) []run {
	first := len(dst)
	heaviest := o.lightest + len(o.starts)/o.width - 1
	for w := max(q.weight-radius, o.lightest); w <= min(q.weight+radius, heaviest); w++ {
		d := w - q.weight
		from, to := o.start(w, q.half+(d-radius+1)>>1), o.start(w, q.half+(d+radius)>>1+1)
		switch last := len(dst) - 1; {
		case from == to:
		case last >= first && from-dst[last].to <= gap:
			dst[last].to = to
		default:
			dst = append(dst, run{from, to})
		}
	}
	return dst
}

// fullRun is the run of all weights within the radius.
func (o *order) fullRun(q *boundedQuery, radius int) run {
	end := len(o.starts) / o.width
	from, to := min(max(q.weight-radius-o.lightest, 0), end), min(max(q.weight+radius+1-o.lightest, 0), end)
	if from >= to {
		return run{}
	}
	return run{int(o.starts[from*o.width]), int(o.starts[to*o.width-1])}
}

// start is the first position of a weight whose half weight is at least what is given.
func (o *order) start(weight, half int) int {
	return int(o.starts[(weight-o.lightest)*o.width+min(max(half-o.lightestHalf, 0), o.width-1)])
}
