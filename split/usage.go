package split

import (
	"refrain/feed"
	"refrain/internal/quota"
	"refrain/topic"
)

// usage is what the posts of each source take. Their sentences share records, so bytes are first as sentenceSize has
// them, and then become a share of what the records really have.
type usage map[string]quota.Usage

const (
	// recordOverhead is about what a topic stores of a record besides its data: stamp, trace, subject, checksum.
	recordOverhead = 128
	// postWeight is what a post without a sentence weighs among the others.
	postWeight = 16
)

func (u usage) add(source string, sentences []feed.Sentence, short int) {
	weight := postWeight
	for i := range sentences {
		weight += sentenceSize(&sentences[i])
	}
	of := u[source]
	of.Add(quota.Usage{Bytes: int64(weight), Posts: 1, Sentences: int64(len(sentences) + short)})
	u[source] = of
}

// of is u with the bytes of the records shared out.
func (u usage) of(records []topic.Record) usage {
	var size, weights int64
	for i := range records {
		size += int64(len(records[i].Data)) + recordOverhead
	}
	for _, x := range u {
		weights += x.Bytes
	}
	for source, x := range u {
		x.Bytes = int64(float64(size) * float64(x.Bytes) / float64(weights))
		u[source] = x
	}
	return u
}

func (u usage) addAll(other usage) {
	for source, x := range other {
		of := u[source]
		of.Add(x)
		u[source] = of
	}
}
