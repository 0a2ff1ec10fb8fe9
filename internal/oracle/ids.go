package oracle

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"

	"refrain/feed"
)

// IDs returns the ids of the matches, ascending, none twice: 16 bytes an event.
func IDs(matches iter.Seq[Match]) []feed.Hash {
	var ids []feed.Hash
	for m := range matches {
		ids = append(ids, m.ID)
	}
	return Sorted(ids)
}

// Sorted sorts ids in place and drops repeats.
func Sorted(ids []feed.Hash) []feed.Hash {
	slices.SortFunc(ids, compareHashes)
	return slices.Compact(ids)
}

func compareHashes(a, b feed.Hash) int {
	x, y := binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(b[:])
	if x != y {
		if x < y {
			return -1
		}
		return 1
	}
	return bytes.Compare(a[8:], b[8:])
}

// Diff returns what got lacks of want and what it has besides. Both are ascending without repeats.
func Diff(got, want []feed.Hash) (missing, extra []feed.Hash) {
	for len(got) > 0 && len(want) > 0 {
		switch c := compareHashes(got[0], want[0]); {
		case c < 0:
			extra, got = append(extra, got[0]), got[1:]
		case c > 0:
			missing, want = append(missing, want[0]), want[1:]
		default:
			got, want = got[1:], want[1:]
		}
	}
	return append(missing, want...), append(extra, got...)
}

// Explain returns up to n of the matches that have one of the ids, for the message of a failed test.
func Explain(matches iter.Seq[Match], ids []feed.Hash, n int) []Match {
	wanted := make(map[feed.Hash]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	var found []Match
	for m := range matches {
		if len(found) == n {
			break
		}
		if wanted[m.ID] {
			delete(wanted, m.ID)
			found = append(found, m)
		}
	}
	return found
}
