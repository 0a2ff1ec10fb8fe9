package outages

import (
	"context"

	"refrain/internal/devservers"
)

// sendTo writes posts to the topic of a source when they are due.
func sendTo(ctx context.Context, s *devservers.SourceTopic, posts []post) {
	var lines [][]byte
	for _, p := range posts {
		lines = append(lines, p.line)
	}
	s.Write(ctx, lines, clientBatch, func(last int) { sleepUntil(ctx, posts[last].due) })
}
