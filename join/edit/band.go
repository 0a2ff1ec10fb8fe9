package edit

import (
	"context"
	"math"
)

// band computes distances. It belongs to one goroutine.
type band struct {
	ctx   context.Context // strings of a million characters take minutes
	cells []int
}

// unreached is more than any distance, and can be added to.
const unreached = math.MaxInt32

// distance is that of two strings, a not the shorter one, when it is at most limit.
func (b *band) distance(long, short []rune, limit int) (distance int, within bool) {
	long, short = trim(long, short)
	limit = min(limit, len(long)) // which no distance exceeds
	if len(long)-len(short) > limit {
		return 0, false
	}
	if len(short) == 0 {
		return len(long), true
	}
	distance = b.fill(long, short, limit)
	return distance, distance <= limit
}

// trim cuts off what both strings begin and end with: that is never edited in a shortest way from one to the other.
func trim(long, short []rune) (a, b []rune) {
	for len(short) > 0 && long[0] == short[0] {
		long, short = long[1:], short[1:]
	}
	for len(short) > 0 && long[len(long)-1] == short[len(short)-1] {
		long, short = long[:len(long)-1], short[:len(short)-1]
	}
	return long, short
}

// fill goes through the table of dynamic programming, D(i, j) the distance of the first i characters of short and the
// first j of long, row by row in place. Its diagonals are j − i; from 0 to the longer − shorter a path must cross
// anyway, and each step beyond either end has to come back, so limit allows for half of what is left. It returns more
// than limit as soon as a row shows that, or when the context has ended.
func (b *band) fill(long, short []rune, limit int) int {
	longer := len(long) - len(short)
	beyond := (limit - longer) / 2
	v := b.reset(beyond, longer) // v[k+beyond+1] is that of diagonal k
	const rows = 1024            // some milliseconds at most apart, unless they are very long
	for i := 1; i <= len(short); i++ {
		if (i%rows == 0 || len(v) > rows) && b.ctx.Err() != nil {
			return unreached
		}
		least := unreached
		for k := max(-beyond, -i); k <= min(longer+beyond, len(long)-i); k++ {
			at := k + beyond + 1
			v[at] = min(v[at]+differ(long, short, i+k-1, i-1), v[at+1]+1, v[at-1]+1)
			least = min(least, v[at]+max(longer-k, k-longer))
		}
		if least > limit {
			return least
		}
	}
	return v[longer+beyond+1]
}

// reset is row 0: D(0, j) = j, on diagonals of which one more on each side is never reached.
func (b *band) reset(beyond, longer int) []int {
	b.cells = b.cells[:0]
	for k := -beyond - 1; k <= longer+beyond+1; k++ {
		if k < 0 || k > longer+beyond {
			b.cells = append(b.cells, unreached)
		} else {
			b.cells = append(b.cells, k)
		}
	}
	return b.cells
}

// differ is what it costs to make a[i] out of b[j]; in front of the first character nothing can be made.
func differ(a, b []rune, i, j int) int {
	switch {
	case i < 0:
		return unreached
	case a[i] == b[j]:
		return 0
	}
	return 1
}
