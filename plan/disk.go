package plan

// disk is what is stored, bytes.
type disk struct {
	sentences, events float64 // topics, at most: records of span + lateness + max_hold + 1 h, of which nothing is purged
	purged            float64 // of sentences, where what no window needs is purged: those of the window
	index             float64 // lookup.db
}

func (w *workload) disk() disk {
	f := w.feed
	sentences := f.PostsPerDay * f.SentencesPerPost
	retainedDays := f.fullest(f.topicDays())
	return disk{
		sentences: sentences * retainedDays * w.recordBytes(),
		events:    sentences * retainedDays * f.EventsPerSentence * w.eventBytes(),
		purged:    sentences * f.fullest(f.windowDays()) * w.recordBytes(),
		index:     sentences * f.fullest(f.indexDays()) * f.EventsPerSentence * w.costs.IndexBytes,
	}
}

// all is what there is in all but dead letters, at most.
func (d *disk) all() float64 { return d.sentences + d.events + d.index }

// topicMargin is what to allow a topic above what is expected, for the error of that.
const topicMargin = 1.1
