package peers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// startLarge is an owner whose answer has so many bytes.
func startLarge(t *testing.T, partition, size int, says bool) Owner {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if says {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		answer := fmt.Sprintf(`{"version":1,"partitions":[%d]}`, partition)
		_, _ = io.WriteString(w, answer+strings.Repeat(" ", size-len(answer)))
	}))
	t.Cleanup(s.Close)
	return Owner{Address: s.URL}
}

// counted counts what is read of answers.
type counted struct {
	http.RoundTripper
	bytes atomic.Int64
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &countedBody{resp.Body, &c.bytes}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

const megabyte = 1_000_000

func roomy(room int64) (*Asker, *counted) {
	a := asker()
	a.Timeout, a.MaxAnswer, a.MaxAnswers = 2*time.Second, megabyte, room
	c := &counted{RoundTripper: a.Client.Transport}
	a.Client.Transport = c
	return a, c
}

// TestAnswersOfMany: the answers of all owners to a question are in memory together. Those that there is no room for are not
// read, and named with what to do.
func TestAnswersOfMany(t *testing.T) {
	a, read := roomy(2 * megabyte)
	a.Timeout = 500 * time.Millisecond
	var owners []Owner
	for q := range 6 {
		owners = append(owners, startLarge(t, q, 900_000, true))
	}
	r, err := a.Ask(t.Context(), Query{Text: "a b", Limit: 1}, len(owners), nil, owners)
	if err != nil || len(r.Missing) != 4 || len(r.Reasons) != 4 {
		t.Fatalf("%v: missing %v, %v", err, r.Missing, r.Reasons)
	}
	if got := read.bytes.Load(); got > a.MaxAnswers {
		t.Errorf("read %d bytes, want %d or fewer", got, a.MaxAnswers)
	}
	reasons := fmt.Sprint(r.Reasons)
	for _, q := range r.Missing {
		if want := owners[q].Address + ": its answer has up to 900000 bytes, for which there is no room"; !strings.Contains(reasons, want) {
			t.Errorf("no %q in %s", want, reasons)
		}
	}
	if !strings.Contains(reasons, "look up less text at once, or fewer texts (limits.matches)") {
		t.Errorf("nothing says what to do: %s", reasons)
	}
}

// TestQuestionsWaitForRoom: questions at once take turns, also where an owner does not say how much it answers, and the room
// of each is free again in the end.
func TestQuestionsWaitForRoom(t *testing.T) {
	a, _ := roomy(megabyte)
	done := make(chan error)
	const questions = 8
	for i := range questions {
		owner := startLarge(t, 0, 900_000, i%2 == 0)
		go func() {
			r, err := a.Ask(t.Context(), Query{Text: "a b", Limit: 1}, 1, nil, []Owner{owner})
			if err == nil && len(r.Missing) > 0 {
				err = fmt.Errorf("missing: %v", r.Reasons)
			}
			done <- err
		}()
	}
	for range questions {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestOwnersThatDoNotSay: three answers of a version before, or through a proxy, have room beside each other where all are small,
// though there would be none for three of the largest.
func TestOwnersThatDoNotSay(t *testing.T) {
	a, _ := roomy(2 * megabyte)
	var owners []Owner
	for q := range 6 {
		owners = append(owners, startLarge(t, q, 10_000, false))
	}
	r, err := a.Ask(t.Context(), Query{Text: "a b", Limit: 1}, len(owners), nil, owners)
	if err != nil || len(r.Missing) > 0 {
		t.Errorf("%v: missing %v, %v", err, r.Missing, r.Reasons)
	}
}

// TestTooLargeAnswer names the owner, whether it says before how large its answer is or not.
func TestTooLargeAnswer(t *testing.T) {
	for _, says := range []bool{false, true} {
		a, _ := roomy(2 * megabyte)
		owner := startLarge(t, 0, megabyte+1, says)
		r, err := a.Ask(t.Context(), Query{Text: "a b", Limit: 1}, 1, nil, []Owner{owner})
		want := owner.Address + ": its answer has more than 1000000 bytes: look up less text at once"
		if got := fmt.Sprint(r.Reasons); err != nil || got != "["+want+"]" {
			t.Errorf("says %v: got %v, %v, want %s", says, got, err, want)
		}
	}
}
