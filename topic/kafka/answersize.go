package kafka

// A broker counts what it answers as it is on its disk, compressed, and the client unpacks an answer whole before anything
// of it is to be had. What is the same again and again takes up to 255 times as much then. So the first answer is a small
// one, and each is as large as the one before lets expect to be wantedBytes unpacked, but no more than twice as large.
const (
	leastAnswer = 16 << 10 // at 255 to one it is wantedBytes; the first batch of an answer comes whole, though
	firstAnswer = 64 << 10
	mostAnswer  = 256 << 10 // of what has just begun to be repetitive it is 64 MiB, once
	wantedBytes = 4 << 20
)

// answerSize is how much a broker is asked for, compressed; zero: it was not asked yet.
type answerSize int

func (s answerSize) next() int {
	if s == 0 {
		return firstAnswer
	}
	return int(s)
}

// note tells what the last answer was unpacked. Of one without records nothing is to be learned.
func (s *answerSize) note(answers []fetched) {
	unpacked := 0
	for i := range answers {
		for j := range answers[i].records {
			unpacked += answers[i].records[j].size()
		}
	}
	if unpacked > 0 {
		last := s.next()
		*s = answerSize(min(max(last*wantedBytes/unpacked, leastAnswer), 2*last, mostAnswer))
	}
}
