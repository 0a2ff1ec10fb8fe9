package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// isa is what differs between instruction sets. A lane of a vector is 32 bits, one row.
type isa interface {
	Lanes() int
	Group() int // vectors that are compared before any is tested
	Vector() VecVirtual
	SetUp(radius Register)                      // keeps the radius and other constants
	Xor(x, query, rows Op)                      // x = query ^ rows
	Count(x VecVirtual)                         // x = counts of its ones, maybe partial; VPADDD adds such
	Distance(sum VecVirtual) VecVirtual         // whole counts; sum stays
	JumpIfNone(least VecVirtual, label string)  // jumps when no lane is inside the radius
	Mask(count GPVirtual)                       // lets in the first count lanes
	Load(rows Mem) VecVirtual                   // the rows that are let in, others 0; reads no others
	Inside(sum VecVirtual) GPVirtual            // a bit for each lane let in and inside the radius
	Store(inside, count, row GPVirtual, to Mem) // writes row + lane for each of count bits, and nothing else
}

// scan holds the operands that live through a kernel.
type scan struct {
	isa
	hits, planes, query, words Register // words is nil when there is one
	row, to, found             GPVirtual
	room                       Mem
	plane                      []GPVirtual  // of the first words
	word                       []VecVirtual // of the query, in all lanes
}

// kernel writes a scan of rows from to to, for signatures of one word or of two and more. A group of vectors is compared
// without a branch between, and only the least distance of the group is tested: hits are rare, so nearly all groups end
// there, after two words at most. One that has a hit is walked again, vector by vector, by the code that also does the
// rows behind the last group: it compares under a mask and writes the rows found behind those found before. Where there
// is no room for them it returns the row to go on from.
func kernel(name string, words int, v isa) {
	k := begin(name, words, v)
	end := GP64() // of the group, or of the rows

	Label("group")
	MOVQ(k.row, end)
	ADDQ(Imm(uint64(v.Lanes()*v.Group())), end)
	CMPQ(end, k.to)
	JG(LabelRef("rest"))
	k.jumpIfNoneInGroup("next")
	JMP(LabelRef("step"))

	Label("rest")
	MOVQ(k.to, end)
	CMPQ(k.row, end)
	JGE(LabelRef("done"))

	Label("step")
	k.step(end)
	ADDQ(Imm(uint64(v.Lanes())), k.row)
	CMPQ(k.row, end)
	JL(LabelRef("step"))

	Label("next")
	MOVQ(end, k.row)
	JMP(LabelRef("group"))

	Label("done")
	Store(k.found, ReturnIndex(0))
	Store(k.row, ReturnIndex(1))
	VZEROUPPER()
	RET()
}

func begin(name string, words int, v isa) *scan {
	TEXT(name, NOSPLIT, "func(hits *uint32, room int, planes *[]uint32, words int, query *uint32, radius int, from "+
		"int, to int) (found int, row int)")
	Pragma("noescape")
	k := &scan{isa: v, row: GP64(), to: GP64(), found: GP64(), room: address("room")}
	v.SetUp(Load(Param("radius"), GP64()))
	k.hits, k.planes, k.query = Load(Param("hits"), GP64()), Load(Param("planes"), GP64()), Load(Param("query"), GP64())
	Load(Param("from"), k.row)
	Load(Param("to"), k.to)
	XORQ(k.found, k.found)
	for w := range words {
		plane, word := GP64(), v.Vector()
		MOVQ(header(k.planes, w), plane)
		VPBROADCASTD(Mem{Base: k.query, Disp: 4 * w}, word)
		k.plane, k.word = append(k.plane, plane), append(k.word, word)
	}
	if words > 1 {
		k.words = Load(Param("words"), GP64())
	}
	return k
}

func address(param string) Mem {
	p, err := Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// header is where slice i of a slice of slices begins: with the pointer to its first element.
func header(slices Register, i int) Mem { return Mem{Base: slices, Disp: 24 * i} }

// rows is vector i of a plane from the current row on.
func (k *scan) rows(plane Register, i int) Mem {
	return Mem{Base: plane, Index: k.row, Scale: 4, Disp: 4 * k.Lanes() * i}
}

// jumpIfNoneInGroup jumps as soon as the words so far are too many bits away. One word of several is too few to ask: it
// would settle some groups and not others, which no branch predictor likes.
func (k *scan) jumpIfNoneInGroup(label string) {
	sums := make([]VecVirtual, k.Group())
	k.JumpIfNone(k.least(func(i int) VecVirtual {
		sums[i] = k.sum(func(w int, x VecVirtual) { k.Xor(x, k.word[w], k.rows(k.plane[w], i)) })
		return sums[i]
	}), label)
	x := k.Vector()
	k.eachFurtherWord("group", func(plane GPVirtual, word VecVirtual) {
		for i, sum := range sums {
			k.Xor(x, word, k.rows(plane, i))
			k.Count(x)
			VPADDD(x, sum, sum)
		}
		k.JumpIfNone(k.least(func(i int) VecVirtual { return sums[i] }), label)
	})
}

// sum is the count over the first words.
func (k *scan) sum(xor func(w int, x VecVirtual)) VecVirtual {
	sum := k.Vector()
	for w := range k.word {
		if w == 0 {
			xor(w, sum)
			k.Count(sum)
			continue
		}
		x := k.Vector()
		xor(w, x)
		k.Count(x)
		VPADDD(x, sum, sum)
	}
	return sum
}

// least is the least distance, lane by lane, of a group of sums.
func (k *scan) least(sum func(i int) VecVirtual) VecVirtual {
	least := k.Vector()
	VPMINUD(k.Distance(sum(0)), k.Distance(sum(1)), least)
	for i := 2; i < k.Group(); i++ {
		VPMINUD(k.Distance(sum(i)), least, least)
	}
	return least
}

// eachFurtherWord loops over the planes and the words of the query behind the first ones.
func (k *scan) eachFurtherWord(label string, body func(plane GPVirtual, word VecVirtual)) {
	if k.words == nil {
		return
	}
	w, at, plane, word := GP64(), GP64(), GP64(), k.Vector()
	MOVQ(U32(len(k.word)), w)
	LEAQ(header(k.planes, len(k.word)), at)
	Label(label + "_word")
	CMPQ(w, k.words)
	JGE(LabelRef(label + "_end"))
	MOVQ(header(at, 0), plane)
	VPBROADCASTD(Mem{Base: k.query, Index: w, Scale: 4}, word)
	body(plane, word)
	ADDQ(Imm(24), at)
	INCQ(w)
	JMP(LabelRef(label + "_word"))
	Label(label + "_end")
}

// step finds and writes the hits of one vector of rows, of those below end. Which vector of a group has the hit cannot
// be predicted, so it does not ask whether there are any.
func (k *scan) step(end GPVirtual) {
	count := GP64()
	MOVQ(end, count)
	SUBQ(k.row, count)
	k.Mask(count)
	inside := k.Inside(k.Distance(k.masked()))
	n, sum := GP64(), GP64()
	POPCNTQ(inside, n)
	LEAQ(Mem{Base: k.found, Index: n, Scale: 1}, sum)
	CMPQ(sum, k.room)
	JG(LabelRef("done"))
	k.Store(inside, n, k.row, Mem{Base: k.hits, Index: k.found, Scale: 4})
	MOVQ(sum, k.found)
}

// masked is the count over all words, of one vector of rows under the mask.
func (k *scan) masked() VecVirtual {
	sum := k.sum(func(w int, x VecVirtual) { k.Xor(x, k.word[w], k.Load(k.rows(k.plane[w], 0))) })
	k.eachFurtherWord("step", func(plane GPVirtual, word VecVirtual) {
		x := k.Vector()
		k.Xor(x, word, k.Load(k.rows(plane, 0)))
		k.Count(x)
		VPADDD(x, sum, sum)
	})
	return sum
}
