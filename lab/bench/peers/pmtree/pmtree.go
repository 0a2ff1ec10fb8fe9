// Package pmtree is a PM-Tree over 32-bit signatures in Hamming space: the index that the paper on learned hash codes
// (Zhang et al., SIGIR 2012, Table 5) compares its scan with.
//
// A PM-Tree (Skopal, Pokorný, Snášel, ADBIS 2004) is an M-Tree, a balanced tree of balls, each in the ball of its
// parent, whose nodes are split when a page is full; and each ball also knows the least and the greatest distance of
// its objects to some fixed pivots. A search leaves out a ball when it is too far from the query, or when the query's
// own distance to a pivot lies too far outside the ball's ring about that pivot.
//
// Settings as in the paper: 20 pivots, pages of 2,048 bytes, here with one byte a distance, since none exceeds 32, which
// makes the tree wide: 36 balls or 70 signatures a page. It stays in memory. Where a filter would cost more than the two
// instructions of a Hamming distance, the distance is computed: in leaves, pivot distances do not pay.
package pmtree

import "math/bits"

// Settings of the paper.
const (
	Pivots   = 20
	PageSize = 2048
)

const (
	ballSize  = 4 + 1 + 1 + 2*Pivots + 8 // centre, radius, distance to the parent's, rings, child
	entrySize = 4 + 4 + 1 + Pivots       // signature, row, distance to the parent's, distances to the pivots
	maxBalls  = (PageSize - 2) / ballSize
	maxRows   = (PageSize - 2) / entrySize
)

// Tree is a PM-Tree. Not safe for concurrent use.
type Tree struct {
	pivots    [Pivots]uint32
	root      *node
	rows      uint32
	distances int

	split splitter
}

// distances to the pivots, and rings: the ranges of those distances over all objects of a ball.
type (
	toPivots [Pivots]uint8
	rings    struct{ low, high toPivots }
)

// node is one page: a leaf has rows, others have balls. The signatures of the rows stand once more by themselves: they
// are all that a search reads of most leaves.
type node struct {
	balls      []ball
	rows       []row
	signatures []uint32
}

func (n *node) add(r row) {
	n.rows = append(n.rows, r)
	n.signatures = append(n.signatures, r.signature)
}

type ball struct {
	centre   uint32
	radius   uint8
	toParent uint8 // from the centre to that of the ball that holds this one
	rings    rings
	child    *node
}

type row struct {
	signature uint32
	number    uint32
	toParent  uint8
	toPivots  toPivots
}

// New returns an empty tree whose pivots are chosen from a sample, far from each other: first the sample's first
// signature, then always the one whose nearest pivot is farthest.
func New(sample []uint32) *Tree {
	t := &Tree{root: &node{}}
	nearest := make([]int, len(sample))
	for i := range nearest {
		nearest[i] = 33
	}
	at := 0
	for p := range t.pivots {
		if len(sample) == 0 {
			break
		}
		t.pivots[p] = sample[at]
		at = 0
		for i, s := range sample {
			nearest[i] = min(nearest[i], int(distance(s, t.pivots[p])))
			if nearest[i] > nearest[at] {
				at = i
			}
		}
	}
	return t
}

func distance(a, b uint32) uint8 { return uint8(bits.OnesCount32(a ^ b)) }

func (t *Tree) toPivots(signature uint32) (d toPivots) {
	for p, pivot := range t.pivots {
		d[p] = distance(signature, pivot)
	}
	return d
}

// Len is the number of rows.
func (t *Tree) Len() int { return int(t.rows) }

// Distances counts the distances that all searches so far computed, those to the pivots left out.
func (t *Tree) Distances() int { return t.distances }

// Search appends the rows within a radius of a signature, in no particular order. Rows count from 0 in the order of
// Insert.
func (t *Tree) Search(hits []uint32, signature uint32, radius int) []uint32 {
	if radius < 0 {
		return hits
	}
	q := query{signature: signature, radius: radius, toPivots: t.toPivots(signature)}
	hits = q.search(hits, t.root, -1)
	t.distances += q.distances
	return hits
}

type query struct {
	signature uint32
	radius    int
	toPivots  toPivots
	distances int
}

// search goes through a page, whose ball's centre is so far from the query; -1 at the root, which has none.
func (q *query) search(hits []uint32, n *node, toParent int) []uint32 {
	for i := range n.balls {
		b := &n.balls[i]
		reach := q.radius + int(b.radius)
		if toParent >= 0 && abs(toParent-int(b.toParent)) > reach {
			continue
		}
		q.distances++
		d := int(distance(q.signature, b.centre))
		if d > reach || q.misses(&b.rings) {
			continue
		}
		hits = q.search(hits, b.child, d)
	}
	q.distances += len(n.signatures)
	for i, s := range n.signatures {
		if int(distance(q.signature, s)) <= q.radius {
			hits = append(hits, n.rows[i].number)
		}
	}
	return hits
}

// misses says whether all of a ball lies too near to some pivot, or too far from it, to be within the radius.
func (q *query) misses(r *rings) bool {
	for p, d := range q.toPivots {
		if int(d)+q.radius < int(r.low[p]) || int(d)-q.radius > int(r.high[p]) {
			return true
		}
	}
	return false
}

func abs(n int) int { return max(n, -n) }
