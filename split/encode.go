package split

import (
	"refrain/feed"
	"refrain/text"
	"refrain/topic"
)

// maxRecord is about how large the data of one record gets: well below what brokers take by default (1 MiB).
const maxRecord = 256 << 10

// encode splits posts and returns their records.
func (s *Split) encode(posts []feed.Post, trace, origin string) *encoder {
	e := &encoder{parts: make([][]feed.Sentence, s.cfg.Sentences.Partitions()), trace: trace,
		origin: origin, usage: usage{}}
	splitter := s.splitters.Get().(*text.Splitter)
	defer s.splitters.Put(splitter)
	var all []feed.Sentence
	for i := range posts {
		before, short := len(all), 0
		all, short = splitter.Sentences(all, &posts[i], s.cfg.MinTokens)
		e.short += short
		e.usage.add(posts[i].Source, all[before:], short)
	}
	e.sentences = len(all) + e.short
	for i := range all {
		p := all[i].Group.Partition(len(e.parts))
		e.parts[p] = append(e.parts[p], all[i])
	}
	e.records()
	return e
}

type encoder struct {
	parts         [][]feed.Sentence // by partition
	short         int               // counted in the first record
	sentences     int               // of all posts, too short ones included
	usage         usage
	trace, origin string
	out           []topic.Record
}

func (e *encoder) records() {
	for p, sentences := range e.parts {
		for len(sentences) > 0 {
			n := fits(sentences)
			e.record(p, sentences[:n])
			sentences = sentences[n:]
		}
	}
	if e.short > 0 { // no sentence at all that is compared
		e.record(0, nil)
	}
}

func (e *encoder) record(partition int, sentences []feed.Sentence) {
	b := topic.Batch{Sentences: sentences, TooShort: e.short, TextVersion: text.Version}
	e.short = 0
	e.out = append(e.out, topic.Record{Partition: partition, Trace: e.trace, Origin: e.origin, Data: b.Append(nil)})
}

// fits is how many of the first sentences one record takes; at least one.
func fits(sentences []feed.Sentence) int {
	size := 0
	for i := range sentences {
		size += sentenceSize(&sentences[i])
		if size > maxRecord && i > 0 {
			return i
		}
	}
	return len(sentences)
}

// sentenceSize is about what a sentence takes in a record, and never less: numbers and hashes are below 128 bytes.
func sentenceSize(s *feed.Sentence) int {
	return 128 + len(s.Text) + 8*len(s.Tokens) + len(s.Source) + len(s.Post) + len(s.Author) + len(s.Lang) +
		len(s.Link) + len(s.Meta)
}
