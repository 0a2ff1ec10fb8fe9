package pmtree

// splitter cuts a full page in two: of all pairs of its objects as centres it takes the one whose larger ball is the
// smallest (the M-Tree's mM_RAD), each object going to the nearer centre (generalised hyperplane).
type splitter struct {
	centres  []uint32
	radii    []uint8 // of the objects, which are balls themselves above the leaves
	between  [][]uint8
	toSecond []bool
}

func (s *splitter) rows(rows []row) (left, right ball) {
	s.centres, s.radii = s.centres[:0], s.radii[:0]
	for i := range rows {
		s.centres = append(s.centres, rows[i].signature)
		s.radii = append(s.radii, 0)
	}
	left, right = s.chooseCentres()
	for i, r := range rows {
		b := &left
		if s.toSecond[i] {
			b = &right
		}
		r.toParent = distance(r.signature, b.centre)
		b.extend(&r)
		b.child.add(r)
	}
	return left, right
}

func (s *splitter) balls(balls []ball) (left, right ball) {
	s.centres, s.radii = s.centres[:0], s.radii[:0]
	for i := range balls {
		s.centres = append(s.centres, balls[i].centre)
		s.radii = append(s.radii, balls[i].radius)
	}
	left, right = s.chooseCentres()
	for i, inner := range balls {
		b := &left
		if s.toSecond[i] {
			b = &right
		}
		inner.toParent = distance(inner.centre, b.centre)
		b.radius = max(b.radius, inner.toParent+inner.radius)
		b.rings.extend(&inner.rings.low, &inner.rings.high)
		b.child.balls = append(b.child.balls, inner)
	}
	return left, right
}

// chooseCentres chooses the two centres and says in toSecond which objects go to the second.
func (s *splitter) chooseCentres() (left, right ball) {
	s.measure()
	best, first, second := 1<<10, 0, 1
	for i := range s.centres {
		for k := i + 1; k < len(s.centres); k++ {
			if r := s.larger(i, k, best); r < best {
				best, first, second = r, i, k
			}
		}
	}
	s.assign(first, second)
	return ball{centre: s.centres[first], rings: empty(), child: &node{}},
		ball{centre: s.centres[second], rings: empty(), child: &node{}}
}

func (s *splitter) measure() {
	for len(s.between) < len(s.centres) {
		s.between = append(s.between, nil)
	}
	for i, a := range s.centres {
		s.between[i] = s.between[i][:0]
		for _, b := range s.centres {
			s.between[i] = append(s.between[i], distance(a, b))
		}
	}
}

// larger is the radius of the larger ball if objects i and k were the centres; it stops at one that is too large.
func (s *splitter) larger(i, k, limit int) int {
	largest := 0
	toFirst, toSecond := s.between[i], s.between[k]
	for o, radius := range s.radii {
		largest = max(largest, int(min(toFirst[o], toSecond[o]))+int(radius))
		if largest >= limit {
			break
		}
	}
	return largest
}

// assign sends every object to the nearer centre, ties to the side with fewer, so that no side is empty.
func (s *splitter) assign(first, second int) {
	s.toSecond = s.toSecond[:0]
	balance := 0
	for o := range s.centres {
		toFirst, toSecond := s.between[first][o], s.between[second][o]
		goes := toSecond < toFirst || toSecond == toFirst && balance > 0
		if o == first || o == second {
			goes = o == second
		}
		if goes {
			balance--
		} else {
			balance++
		}
		s.toSecond = append(s.toSecond, goes)
	}
}
