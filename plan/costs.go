package plan

import "math"

// Costs are what the program needs, in µs of one processor core and in bytes. All of them stand here and nowhere else.
type Costs struct {
	// The route, a post or a sentence.

	DecodeMicros  float64 // a post: JSON to a post
	SplitMicros   float64 // a post: text to sentences, tokens, hashes, and their record in the sentence topic
	ReadMicros    float64 // a sentence: from the record in the sentence topic to what is looked up
	InsertMicros  float64 // a sentence, prefix engine
	EventMicros   float64 // an event: made and written
	RecordBytes   float64 // a sentence in the sentence topic, without its tokens (8 bytes each) and its text
	EventBytes    float64 // an event in the event topic, without its two texts
	BatchSeconds  float64 // that a sentence waits for others to be looked up with, at most
	BatchMost     float64 // sentences that are looked up at once, at most
	HopSecondsP50 float64 // the way around the window: request, two topics, reader; the median
	HopSecondsP99 float64 // the same, 99 of 100

	// One look-up in one partition.

	Prefix    []LookupCost // by threshold, ascending
	Scan      ScanCost
	GPU       GPUCost
	BandShare []AtThreshold // by threshold, ascending: rows whose length a partner may have, of all

	// What the window holds, bytes for each distinct sentence.

	RowBytes        float64 // the row itself
	TableBytes      float64 // its place in the table of groups
	SetBytes        float64 // its token set, without the tokens
	TokenBytes      float64 // of the set, a token
	OccurrenceBytes float64 // an occurrence: a sentence of the window
	TextBytes       float64 // a text kept, besides its own bytes
	DictionaryBytes float64 // its share of the dictionary of tokens
	PrefixBytes     float64 // its postings in the prefix index, at PrefixTokens tokens posted
	PrefixTokens    float64
	ScanBytes       float64 // in the bands of the scan engine, besides its signature

	// A worker besides its window.

	ProcessBytes float64 // the process with an empty window
	Garbage      float64 // of what is alive, that is not collected yet
}

// LookupCost is what a look-up costs at one threshold: Base + Million · (rows/10⁶)^Exponent µs up to 10⁶ rows in a
// partition, where it was measured, and Base + Million · rows/10⁶ above, which is no less than what to expect.
type LookupCost struct {
	Threshold, Base, Million, Exponent float64
}

func (c LookupCost) micros(rows float64) float64 {
	r := rows / 1e6
	if r > 1 {
		return c.Base + c.Million*r
	}
	return c.Base + c.Million*math.Pow(r, c.Exponent)
}

// ScanCost is what a look-up by the scan engine costs: Base + rows compared / Rate.
type ScanCost struct {
	Base float64         // µs
	Rate map[int]float64 // 10⁶ comparisons a second (that is, a µs) of one core, by bits
}

// GPUCost is what a look-up by the cuda engine costs: Launch / batch + rows compared / Rate on the card, and Base +
// p · Partition on the processor for the candidates.
type GPUCost struct {
	Base   float64         // µs of a core
	Launch float64         // µs of the card, a batch
	Rate   map[int]float64 // 10⁶ comparisons a second (a µs) of one card, by bits
	Batch  float64         // sentences a launch, at most
	Bytes  float64         // of device memory a row, besides its signature
}

// AtThreshold is a share at a threshold.
type AtThreshold struct{ Threshold, Share float64 }
