package outages

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// post is one line, and when it is due.
type post struct {
	id   string
	line []byte
	due  time.Time
}

var (
	createdAt = regexp.MustCompile(`"created_at":"[^"]*"`)
	postID    = regexp.MustCompile(`"id":"([^"]*)"`)
)

// realPosts are real ones as they would be posted at a rate from a time on.
func realPosts(t *testing.T, n, rate int, begin time.Time) (all []post) {
	t.Helper()
	for i, line := range e2e.SplitLines(e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)) {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
		stamp := []byte(`"created_at":"` + due.UTC().Format("2006-01-02T15:04:05.000Z") + `"`)
		id := postID.FindSubmatch(line)
		if id == nil {
			t.Fatalf("post without an id: %s", line)
		}
		all = append(all, post{id: string(id[1]), line: createdAt.ReplaceAllLiteral(line, stamp), due: due})
	}
	return all
}

// joined are the lines of posts.
func joined(posts []post) []byte {
	var out bytes.Buffer
	for i := range posts {
		out.Write(posts[i].line)
	}
	return out.Bytes()
}
