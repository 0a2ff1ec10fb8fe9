package apart

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const long = "the quick brown fox jumps over the lazy dog"

// TestDeletion: an answer without a name says that no worker shows the post any more; one that stands still is named, in time.
func TestDeletion(t *testing.T) {
	onEachBroker(t, 30*time.Second, "", func(d *deployment) {
		t := d.t
		split, api, match, _ := d.startFour()

		post(split, `{"id":"a","text":"`+long+`"}`)
		api.Await(10*time.Second, "post in the window", func() bool { return strings.Contains(matches(t, api.URL("")), `"post":"a"`) })
		if status, answer := do(split, "DELETE", "/v1/posts/a", ""); status != 204 || answer != "" {
			t.Errorf("all are there: %d %s", status, answer)
		}
		if got := matches(t, api.URL("")); strings.Contains(got, `"post":"a"`) || strings.Contains(got, "partial") {
			t.Errorf("after the answer: %s", got)
		}

		pause(match)
		begin := time.Now()
		status, answer := do(split, "DELETE", "/v1/posts/b", "")
		took := time.Since(begin)
		var said struct {
			Behind []struct {
				Worker     string
				Partitions []int
			}
		}
		if err := json.Unmarshal([]byte(answer), &said); err != nil || status != 202 || len(said.Behind) != 1 || said.Behind[0].Worker != "match-1" ||
			len(said.Behind[0].Partitions) != 2 || took > 8*time.Second {
			t.Errorf("one stands still: %d %s after %v", status, answer, took)
		}
		begin = time.Now()
		if got := matches(t, api.URL("")); strings.Count(got, `"missingPartitions":[`) != 1 || strings.Contains(got, `"missingPartitions":[0,1,2,3]`) ||
			time.Since(begin) > 8*time.Second {
			t.Errorf("one stands still: %s after %v", got, time.Since(begin))
		}
		resume(match)
		if status, answer := do(split, "DELETE", "/v1/posts/b", ""); status != 204 {
			t.Errorf("it goes on: %d %s", status, answer)
		}
	})
}
