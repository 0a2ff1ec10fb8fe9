package topic

import (
	"fmt"
	"time"
)

// Size is how much of a topic's limits is used.
type Size struct {
	Bytes    int64 // of all partitions together, as the broker counts them against the limit
	MaxBytes int64 // 0: no limit
	Records  int64 // messages, where a topic is packed
	// Oldest is when the oldest message that is kept was appended, by the broker's clock; zero where there is none, or it
	// is not known.
	Oldest time.Time
	// Dropped counts the messages that retention and purges have ever dropped.
	Dropped int64
	// Appended is how many bytes this process has appended since it opened the topic, counted as in Bytes.
	Appended int64
}

// FixedError says that a topic exists with another value of a setting that cannot change.
type FixedError struct {
	Topic, Setting, Is, Want string
}

func (e *FixedError) Error() string {
	return fmt.Sprintf("topic %s was made with %s %s and cannot go on with %s: go back to %s, or start with other topics: "+
		"an empty data directory, or on a broker another topics.name",
		e.Topic, e.Setting, e.Is, e.Want, e.Is)
}
