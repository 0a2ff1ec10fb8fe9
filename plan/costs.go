package plan

import "math"

// Costs are what the program needs: µs of one processor core, bytes, and seconds. All of them stand here and nowhere
// else. DefaultCosts says where each was measured.
type Costs struct {
	// The route of a post, a sentence, an event.

	DecodeMicros float64 `json:"decodeMicros"` // a post: JSON to a post
	SplitMicros  float64 `json:"splitMicros"`  // a post: text to sentences, tokens, hashes, and their record
	ReadMicros   float64 `json:"readMicros"`   // a sentence: from the record in the sentence topic to what is looked up
	InsertMicros float64 `json:"insertMicros"` // a sentence: into the window and its index
	EventMicros  float64 `json:"eventMicros"`  // an event: verified, made and written

	PublishMicros float64 `json:"publishMicros"` // an event: read again, and handed to one who follows

	// Topics on a broker, and what their partitions cost when they change hands.

	Kafka         BrokerCost `json:"kafka"`
	NATS          BrokerCost `json:"nats"`
	InsertGrowth  float64    `json:"insertGrowth"`  // an insertion takes InsertMicros · (rows/10⁶)^InsertGrowth in more than 10⁶ rows
	RestoreMicros float64    `json:"restoreMicros"` // a sentence: from a snapshot, by one thread

	// A backfill, µs of a core.

	GatherMicros         float64 `json:"gatherMicros"`         // a post: read, decoded, sorted, written to a run
	MergeMicros          float64 `json:"mergeMicros"`          // a post: from the runs to sentences
	BackfillInsertMicros float64 `json:"backfillInsertMicros"` // a sentence: into the window of a slice
	BackfillEventMicros  float64 `json:"backfillEventMicros"`  // an event: made, written, summed

	SortBytes    float64 `json:"sortBytes"`    // that a backfill sorts posts in; as many as fit are on disk nowhere
	RunShare     float64 `json:"runShare"`     // of a post's bytes, that it takes in a run, compressed
	RunShareKept float64 `json:"runShareKept"` // likewise where runs have the post also as it came in

	RecordBytes float64 `json:"recordBytes"` // a sentence in its record, besides its tokens (8 bytes each) and its text
	EventBytes  float64 `json:"eventBytes"`  // an event, besides its two texts
	RecordShare float64 `json:"recordShare"` // of a record's bytes, that it takes in the topic, compressed
	EventShare  float64 `json:"eventShare"`  // of an event's bytes, likewise
	IndexBytes  float64 `json:"indexBytes"`  // of an event in the embedded index of reuse
	LetterBytes float64 `json:"letterBytes"` // of the files of dead letters of a worker, at most

	BatchSeconds float64 `json:"batchSeconds"` // that a sentence waits for others to be looked up with, at most
	MaxBatch     float64 `json:"batchMost"`    // sentences that are looked up at once, at most
	HopSeconds   float64 `json:"hopSeconds"`   // the way around the window (request, two topics, two readers), the median
	HopTail      float64 `json:"hopTail"`      // the same, of which 99 in 100 are quicker

	// One look-up in one partition.

	Prefix      []LookupCost  `json:"prefix"`    // by threshold, ascending
	Cosine      []LookupCost  `json:"cosine"`    // the same by cosine; none: see Feed.jaccard
	Scan        []LookupCost  `json:"scan"`      // by threshold, ascending; md5 of 64 bits and one, false candidates included
	BandShare   []AtThreshold `json:"bandShare"` // by threshold, ascending: rows of a size that a partner may have, of all
	GPU         GPUCost       `json:"gpu"`
	MD5         []FalseCost   `json:"md5"`         // false candidates of hashed codes, by bits and ones, ascending
	Passing     []FalseCost   `json:"passing"`     // of them, those that pass the holders of the look-up (hashcodes.Holders)
	FalseMicros float64       `json:"falseMicros"` // of a core, to find that one is false, by scan, with one bit a token
	MoreMicros  float64       `json:"moreMicros"`  // the same with more bits: containment leaves out nearly all unread

	// What the window holds for each distinct sentence, bytes.

	RowBytes        float64 `json:"rowBytes"`        // the row itself
	TableBytes      float64 `json:"tableBytes"`      // its place in the table of groups
	SetBytes        float64 `json:"setBytes"`        // its token set, besides its tokens
	TokenBytes      float64 `json:"tokenBytes"`      // each token of the set
	OccurrenceBytes float64 `json:"occurrenceBytes"` // each occurrence, that is, each sentence of the window
	TextBytes       float64 `json:"textBytes"`       // its text where texts are kept, besides the text's own bytes
	DictionaryBytes float64 `json:"dictionaryBytes"` // its share of the dictionary of tokens
	PrefixBytes     float64 `json:"prefixBytes"`     // the prefix index, for each token that is posted: n − θn + 1 of them
	ScanBytes       float64 `json:"scanBytes"`       // the bands of the scan and cuda engines, besides the signature

	// What a worker holds besides its window.

	ProcessBytes float64 `json:"processBytes"` // the process with an empty window
	Garbage      float64 `json:"garbage"`      // what is no longer alive and not yet collected, as a share of the window
}

// BrokerCost is what topics on a broker of one kind cost.
type BrokerCost struct {
	WriteMicros float64 `json:"writeMicros"` // a post, in split: its records packed and sent, beyond what an own topic takes
	ReadMicros  float64 `json:"readMicros"`  // a sentence, in every thread that reads: in place of Costs.ReadMicros
	TakeMicros  float64 `json:"takeMicros"`  // a post, of the broker: its records and events taken in
	HandMicros  float64 `json:"handMicros"`  // a sentence, of the broker: handed to one thread that reads
	HopSeconds  float64 `json:"hopSeconds"`  // in place of Costs.HopSeconds
	HopTail     float64 `json:"hopTail"`     // in place of Costs.HopTail
}

// LookupCost is what a look-up costs at one threshold: Base + Million · (rows/10⁶)^Exponent µs up to 10⁶ rows in a
// partition, and from there on Base + Million · (rows/10⁶)^Large up to measuredRows, which is what was measured; what comes
// above is in proportion to the rows, which is no less than what to expect.
type LookupCost struct {
	Threshold float64 `json:"threshold"`
	Base      float64 `json:"base"`
	Million   float64 `json:"million"`
	Exponent  float64 `json:"exponent"`
	Large     float64 `json:"large"`
}

// measuredRows is the largest partition in which look-ups were measured.
const measuredRows = 25e6

func (c LookupCost) micros(rows float64) float64 {
	r, most := rows/1e6, measuredRows/1e6
	switch {
	case r <= 1:
		return c.Base + c.Million*math.Pow(r, c.Exponent)
	case r <= most:
		return c.Base + c.Million*math.Pow(r, c.Large)
	}
	return c.Base + c.Million*math.Pow(most, c.Large)*r/most
}

// GPUCost is what a look-up by the cuda engine costs: rows compared / Rate + Launch / batch of the card, and Base of
// the processor.
type GPUCost struct {
	Base   float64         `json:"base"`   // µs of a core, a look-up: copies and candidates
	False  float64         `json:"false"`  // µs of a core, to find that one is false
	Launch float64         `json:"launch"` // µs of the card, a batch
	Batch  float64         `json:"batch"`  // look-ups at once, at most
	Rate   map[int]float64 `json:"rate"`   // comparisons a µs of one card, by bits
	Bytes  float64         `json:"bytes"`  // of the card's memory a row, besides its signature
}

// AtThreshold is a value at a threshold.
type AtThreshold struct {
	Threshold float64 `json:"threshold"`
	Value     float64 `json:"value"`
}

// lookupMicros is the cost of a look-up at a threshold between those of the table: the logarithm of the cost is taken
// to be linear between two of them, and beyond the ends to go on as it did. A lower threshold never costs less, though
// fits far from where they were measured may say so.
func lookupMicros(table []LookupCost, threshold, rows float64) float64 {
	return math.Exp(between(len(table), threshold, func(i int) (float64, float64) {
		highest := 1e-9
		for _, c := range table[i:] {
			highest = max(highest, c.micros(rows))
		}
		return table[i].Threshold, math.Log(highest)
	}))
}

// bandShare is the share of the rows whose size a partner may have.
func (c *Costs) bandShare(threshold float64) float64 {
	share := between(len(c.BandShare), threshold, func(i int) (float64, float64) {
		return c.BandShare[i].Threshold, c.BandShare[i].Value
	})
	return min(1, max(0.01, share))
}

// between interpolates linearly in a table of n points (x ascending), and extrapolates by its first and last piece.
func between(n int, x float64, at func(int) (x, y float64)) float64 {
	if n == 1 {
		_, y := at(0)
		return y
	}
	i := 0
	for i < n-2 {
		if next, _ := at(i + 1); x <= next {
			break
		}
		i++
	}
	x0, y0 := at(i)
	x1, y1 := at(i + 1)
	return y0 + (y1-y0)*(x-x0)/(x1-x0)
}
