package shard

import "math/bits"

// slot is a set of hashes: those of the sentences without a usable time in one slot of time. Open addressing without
// anything but the hashes themselves: 8 bytes of three quarters full, so 11 a sentence once the slot is closed.
type slot struct {
	number int64
	table  []uint64 // 0: free
	used   int
}

// firstTable is the size of a table with its first hash.
const firstTable = 16

// index is where a hash is, or would be. Some entry is free.
func (s *slot) index(hash uint64) int {
	hi, _ := bits.Mul64(hash, uint64(len(s.table)))
	for i := int(hi); ; i++ {
		if i == len(s.table) {
			i = 0
		}
		if s.table[i] == 0 || s.table[i] == hash {
			return i
		}
	}
}

// notFree stands for the one hash that would look like a free entry.
func notFree(hash uint64) uint64 { return max(1, hash) }

func (s *slot) has(hash uint64) bool {
	return s.used > 0 && s.table[s.index(notFree(hash))] != 0
}

func (s *slot) add(hash uint64) {
	if 4*(s.used+1) > 3*len(s.table) {
		s.resize(max(firstTable, len(s.table)*3/2))
	}
	hash = notFree(hash)
	if i := s.index(hash); s.table[i] == 0 {
		s.table[i] = hash
		s.used++
	}
}

// close gives back what the set does not need, when nothing comes any more.
func (s *slot) close() { s.resize(s.used*4/3 + 1) }

func (s *slot) resize(size int) {
	old := s.table
	s.table = make([]uint64, size)
	for _, hash := range old {
		if hash != 0 {
			s.table[s.index(hash)] = hash
		}
	}
}

func (s *slot) bytes() int64 { return 8 * int64(cap(s.table)) }
