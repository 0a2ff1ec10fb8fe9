package pmtree

// Insert adds a signature as the next row.
func (t *Tree) Insert(signature uint32) {
	r := row{signature: signature, number: t.rows, toPivots: t.toPivots(signature)}
	t.rows++
	if left, right, split := t.insert(t.root, r, nil); split {
		t.root = &node{balls: []ball{left, right}}
	}
}

// insert adds a row below n, the page of the ball parent, nil for the root. When that splits the page, the two balls
// that replace parent come back; their distance to the centre above is not known here.
func (t *Tree) insert(n *node, r row, parent *ball) (left, right ball, split bool) {
	if n.balls == nil {
		if parent != nil {
			r.toParent = distance(r.signature, parent.centre)
		}
		n.add(r)
		if len(n.rows) <= maxRows {
			return left, right, false
		}
		left, right = t.split.rows(n.rows)
		return left, right, true
	}
	b := n.choose(r.signature)
	b.extend(&r)
	one, other, split := t.insert(b.child, r, b)
	if !split {
		return left, right, false
	}
	if parent != nil {
		one.toParent = distance(one.centre, parent.centre)
		other.toParent = distance(other.centre, parent.centre)
	}
	*b = one
	n.balls = append(n.balls, other)
	if len(n.balls) <= maxBalls {
		return left, right, false
	}
	left, right = t.split.balls(n.balls)
	return left, right, true
}

// choose finds the ball for a signature: the nearest of those that hold it already, else the one that grows least.
func (n *node) choose(signature uint32) *ball {
	best, at := 1<<10, 0
	for i := range n.balls {
		b := &n.balls[i]
		d := int(distance(signature, b.centre))
		if grows := d - int(b.radius); grows > 0 {
			d += grows * 64 // more than any distance
		}
		if d < best {
			best, at = d, i
		}
	}
	return &n.balls[at]
}

// extend widens a ball so that it holds a row.
func (b *ball) extend(r *row) {
	b.radius = max(b.radius, distance(r.signature, b.centre))
	b.rings.extend(&r.toPivots, &r.toPivots)
}

func (r *rings) extend(low, high *toPivots) {
	for p := range r.low {
		r.low[p] = min(r.low[p], low[p])
		r.high[p] = max(r.high[p], high[p])
	}
}

// empty are the rings of no object.
func empty() (r rings) {
	for p := range r.low {
		r.low[p] = 255
	}
	return r
}
