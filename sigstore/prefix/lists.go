package prefix

// posting says that a row has a token of its prefix at a position. 16 bytes.
type posting struct {
	signature      uint64 // its first 64 bits: their distance is at most that of the whole
	row            uint32
	size, position uint16
}

// lists are the postings of all tokens. A list is a chain of chunks, each twice as long as the one before, all
// cut from one array: long lists are read in sequence, short ones waste little, and the collector sees three
// arrays and a map without pointers.
type lists struct {
	tails    map[uint32]uint32 // token number -> 1 + its newest chunk
	chunks   []chunk
	postings []posting
}

type chunk struct {
	start, used, size uint32
	before            uint32 // 1 + the chunk before it, 0 for the first
}

const maxChunk = 1024

func (l *lists) add(token uint32, p posting) {
	c := l.newest(token)
	if c == nil || c.used == c.size {
		c = l.grow(token, c)
	}
	l.postings[c.start+c.used] = p
	c.used++
}

// grow begins a new chunk of a token whose newest is full.
func (l *lists) grow(token uint32, full *chunk) *chunk {
	if l.tails == nil {
		l.tails = map[uint32]uint32{}
	}
	c := chunk{start: uint32(len(l.postings)), size: 1, before: l.tails[token]}
	if full != nil {
		c.size = min(2*full.size, maxChunk)
	}
	for range c.size {
		l.postings = append(l.postings, posting{})
	}
	l.chunks = append(l.chunks, c)
	l.tails[token] = uint32(len(l.chunks))
	return &l.chunks[len(l.chunks)-1]
}

// newest is the last chunk of a token's list, nil if there is none.
func (l *lists) newest(token uint32) *chunk { return l.at(l.tails[token]) }

func (l *lists) before(c *chunk) *chunk { return l.at(c.before) }

func (l *lists) at(n uint32) *chunk {
	if n == 0 {
		return nil
	}
	return &l.chunks[n-1]
}

func (l *lists) of(c *chunk) []posting { return l.postings[c.start : c.start+c.used] }

func (l *lists) bytes() int64 {
	return 16*int64(cap(l.postings)) + 16*int64(cap(l.chunks)) + 16*int64(len(l.tails))
}
