package topic

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"
)

// Deal says who of the members should have which of the parts 0 to parts-1, by their names alone: whoever knows the same
// members gets the same answer, in whatever order they come, and a member that returns gets back exactly what it had. Each
// part has one owner; no two members differ by more than one part. Without members nobody has anything.
//
// It is rendezvous hashing, where each pair of a part and a member has a weight and the heaviest comes first, with a bound:
// who is full is passed over. The bound costs moves, the more the fewer parts each member has.
// docs/design/0019-ownership.md has the figures.
func Deal(parts int, members []string) map[string][]int {
	names := slices.Compact(slices.Sorted(slices.Values(members)))
	out := make(map[string][]int, len(names))
	for _, name := range names {
		out[name] = nil
	}
	if len(names) == 0 {
		return out
	}
	for p, m := range owners(parts, names) {
		out[names[m]] = append(out[names[m]], p)
	}
	return out
}

// owners gives the pairs out, heaviest first: everybody has parts/members, and the rest have one more.
func owners(parts int, names []string) []int {
	out := slices.Repeat([]int{-1}, parts)
	held := make([]int, len(names))
	share, more := parts/len(names), parts%len(names)
	for _, x := range pairs(parts, names) {
		if out[x.part] >= 0 || held[x.member] > share || held[x.member] == share && more == 0 {
			continue
		}
		if held[x.member] == share {
			more--
		}
		out[x.part] = x.member
		held[x.member]++
	}
	return out
}

type pair struct {
	weight       uint64
	part, member int
}

// pairs are all pairs, heaviest first.
func pairs(parts int, names []string) []pair {
	all := make([]pair, 0, parts*len(names))
	for p := range parts {
		for m, name := range names {
			all = append(all, pair{xxh3.HashString(strconv.Itoa(p) + "/" + name), p, m})
		}
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.part, b.part), cmp.Compare(a.member, b.member))
	})
	return all
}
