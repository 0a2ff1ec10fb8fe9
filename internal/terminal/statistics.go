package terminal

import (
	"fmt"

	"refrain/internal/units"
)

// Statistics are the figures of the line under a running program.
type Statistics struct {
	PostsPerSecond float64
	Posts          int64
	Sentences      int64 // in the window
	Events         int64
	RSS            int64 // bytes; 0: not known
}

// String is the line.
func (s Statistics) String() string {
	line := fmt.Sprintf("%s posts/s · %s posts · %s sentences in the window · %s events",
		units.Thousands(int64(s.PostsPerSecond)), units.Thousands(s.Posts), units.Thousands(s.Sentences),
		units.Thousands(s.Events))
	if s.RSS > 0 {
		line += " · " + units.Bytes(s.RSS)
	}
	return line
}
