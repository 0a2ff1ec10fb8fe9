package kafka

import "testing"

// TestAnswersOfAllPartitions: each partition may hold an answer that nobody takes.
func TestAnswersOfAllPartitions(t *testing.T) {
	for _, partitions := range []int{0, 1, 32, 100, 512} {
		if all := int64(answerBytes(partitions)) * int64(partitions); all > allAnswers {
			t.Errorf("%d partitions hold %d bytes, want %d at most", partitions, all, allAnswers)
		}
	}
	if one := answerBytes(1); one != maxAnswer {
		t.Errorf("one partition's answer is %d bytes, want %d", one, maxAnswer)
	}
	if many := answerBytes(100_000); many != minAnswer {
		t.Errorf("an answer is %d bytes, want %d at least", many, minAnswer)
	}
}
