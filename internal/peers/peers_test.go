package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
)

var errText = errors.New("the text is wrong")

// owner is a process that has some partitions: of partition q it says that post q repeats the text.
type owner struct {
	server     *httptest.Server
	partitions []int
	asked      int
	look       Local // nil: as said above
}

const token = "a token of the cluster"

func start(t *testing.T, partitions ...int) *owner {
	t.Helper()
	o := &owner{partitions: partitions}
	o.server = httptest.NewServer(&Handler{Token: token, MaxText: 1000, BadInput: errText, Look: o.answer})
	t.Cleanup(o.server.Close)
	return o
}

func (o *owner) answer(ctx context.Context, q Query) (*Answer, error) {
	o.asked++
	if o.look != nil {
		return o.look(ctx, q)
	}
	return answerOf(o.partitions...), nil
}

func match(q int) feed.Match {
	m := feed.Match{Scheme: "near", Jaccard: 1,
		Later:   feed.Occurrence{Post: "", Time: 10, End: 3, Text: "a b"},
		Earlier: feed.Occurrence{Post: fmt.Sprint("p", q), Time: 5, End: 3, Text: "a b"},
		First:   feed.First{Post: fmt.Sprint("p", q), Time: 5}, Occurrences: 2, Authors: 1}
	m.ID[0] = byte(q + 1)
	return m
}

func answerOf(partitions ...int) *Answer {
	a := &Answer{Partitions: partitions}
	for _, q := range partitions {
		a.Sentences = append(a.Sentences, Sentence{Index: q % 2, Matches: []feed.Match{match(q)}})
	}
	return a
}

func asker() *Asker {
	a := DefaultAsker()
	a.Token = token
	return a
}

// posts are the earlier posts of a result by sentence.
func posts(r Result) map[int][]string {
	found := map[int][]string{}
	for _, s := range r.Sentences {
		for _, m := range s.Matches {
			found[s.Index] = append(found[s.Index], m.Earlier.Post)
		}
	}
	return found
}

func mustAsk(t *testing.T, local *Answer, owners ...Owner) Result {
	t.Helper()
	r, err := asker().Ask(t.Context(), Query{Text: "a b", Limit: 100}, len(owners), local, owners)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOneForAll: the answers of three processes are those of one, and each is asked once.
func TestOneForAll(t *testing.T) {
	x, y := start(t, 1, 4), start(t, 2, 3)
	at := func(o *owner) Owner { return Owner{Address: o.server.URL, Epoch: 1} }
	r := mustAsk(t, answerOf(0, 5), Owner{}, at(x), at(y), at(y), at(x), Owner{})
	want := map[int][]string{0: {"p0", "p2", "p4"}, 1: {"p1", "p3", "p5"}}
	if diff := cmp.Diff(want, posts(r)); diff != "" || len(r.Missing) > 0 || len(r.Reasons) > 0 {
		t.Errorf("missing %v, %v, difference %s", r.Missing, r.Reasons, diff)
	}
	if x.asked != 1 || y.asked != 1 {
		t.Errorf("asked %d and %d times", x.asked, y.asked)
	}
	if m := r.Sentences[0].Matches[2]; m.Earlier.Text != "a b" || m.ID != match(4).ID || m.Occurrences != 2 {
		t.Errorf("got %+v", m)
	}
}

// TestMissing: whoever does not answer is named, with the reason, and the others' answers come all the same.
func TestMissing(t *testing.T) {
	here := start(t, 0)
	gone := start(t, 1)
	gone.server.Close()
	slow := start(t, 2)
	slow.look = func(ctx context.Context, _ Query) (*Answer, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	moved := start(t, 7) // it has lost 3 meanwhile
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"version":9}`)) }))
	defer other.Close()
	huge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2000)) }))
	defer huge.Close()
	a := asker()
	a.Timeout, a.MaxAnswer = 300*time.Millisecond, 1500
	r, err := a.Ask(t.Context(), Query{Text: "a b", Limit: 100}, 8, nil, []Owner{
		{Address: here.server.URL}, {Address: gone.server.URL}, {Address: slow.server.URL}, {Address: moved.server.URL},
		{Address: other.URL}, {Address: huge.URL}, {Address: "http://127.0.0.1:1", Silent: true}, {},
	})
	if err != nil {
		t.Fatal(err)
	}
	// moved has 7, which nobody else speaks for.
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6}, r.Missing); diff != "" {
		t.Error(diff)
	}
	reasons := fmt.Sprint(r.Reasons)
	for _, want := range []string{"refused", "deadline", "another version", huge.URL + ": its answer has more than 1500 bytes",
		"not been heard of", "partition 7: nobody serves it"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("no %q in %s", want, reasons)
		}
	}
}

func TestRefusals(t *testing.T) {
	o := start(t, 0)
	wrong := asker()
	wrong.Token = "another token"
	r, err := wrong.Ask(t.Context(), Query{Text: "a", Limit: 1}, 1, nil, []Owner{{Address: o.server.URL}})
	if err != nil || len(r.Missing) != 1 || o.asked != 0 || !strings.Contains(fmt.Sprint(r.Reasons), "cluster.token") {
		t.Errorf("wrong token: %+v, %v, asked %d times", r, err, o.asked)
	}
	o.look = func(context.Context, Query) (*Answer, error) { return nil, fmt.Errorf("%w: too long", errText) }
	if r, err := asker().Ask(t.Context(), Query{}, 1, nil, []Owner{{Address: o.server.URL}}); err != nil || !strings.Contains(fmt.Sprint(r.Reasons), "too long") {
		t.Errorf("a text that is to blame: %v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := asker().Ask(ctx, Query{}, 1, nil, []Owner{{Address: o.server.URL}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for body, status := range map[string]int{`{"version":2}`: 501, `{"version":1,"text":"` + strings.Repeat("x", 20_000) + `"}`: 400, `[`: 400} {
		req, _ := http.NewRequest(http.MethodPost, o.server.URL+MatchPath, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != status {
			t.Errorf("%.20s: %v, %v, want %d", body, resp, err, status)
		}
	}
}

// TestLimit: what there is no room for is not left out in silence; what two say counts once.
func TestLimit(t *testing.T) {
	r := merge(4, []*Answer{answerOf(0, 2), answerOf(2, 0), answerOf(1, 2), nil, answerOf(3)}, 3, nil)
	if got := posts(r); !cmp.Equal(got, map[int][]string{0: {"p0", "p2"}, 1: {"p1"}}) || !r.Sentences[1].Truncated || len(r.Missing) > 0 {
		t.Errorf("%v, %+v", got, r)
	}
}

// TestDirectory: the highest epoch counts, and only while it is put again and again.
func TestDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records := map[int]*Record{}
		d := Directory{Silence: 10 * time.Second, Fresh: time.Second, Now: time.Now,
			Read: func(_ context.Context, q int) (*Record, error) { return records[q], nil }}
		put := func(address string, epoch int64, released bool) {
			records[1] = &Record{Address: address, Epoch: epoch, Released: released, Put: time.Now()}
		}
		want := func(want Owner) {
			t.Helper()
			time.Sleep(time.Second) // of the bubble
			owners, err := d.Owners(t.Context(), 2)
			if err != nil || !slices.Equal(owners, []Owner{{}, want}) {
				t.Errorf("got %+v, %v, want %+v", owners, err, want)
			}
		}
		want(Owner{})
		put("a", 3, false)
		want(Owner{Address: "a", Epoch: 3})
		put("zombie", 2, false)
		want(Owner{Address: "a", Epoch: 3})
		time.Sleep(9 * time.Second)
		want(Owner{Address: "a", Epoch: 3, Silent: true})
		put("a", 3, false)
		want(Owner{Address: "a", Epoch: 3})
		put("b", 4, true)
		want(Owner{Address: "b", Epoch: 4, Silent: true})
	})
}

func FuzzDecode(f *testing.F) {
	body, err := encode(answerOf(0, 1, 2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(a)
		if err != nil || !json.Valid(again) {
			t.Fatal(err)
		}
	})
}

// TestRoomForQuestions: questions that there is no room for are neither read nor looked up, and are once there is.
func TestRoomForQuestions(t *testing.T) {
	looking, goOn := make(chan struct{}, 2), make(chan struct{})
	h := &Handler{MaxText: maxQuestions, Look: func(context.Context, Query) (*Answer, error) { // one takes all the room
		looking <- struct{}{}
		<-goOn
		return &Answer{}, nil
	}}
	server := httptest.NewServer(h)
	defer server.Close()
	ask := func(ctx context.Context) (int, error) {
		body := struct{ io.Reader }{strings.NewReader(`{"version":1,"text":"a"}`)} // of a length that nobody says
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+MatchPath, body)
		if err != nil {
			return 0, err
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	first := make(chan int, 1)
	go func() {
		status, _ := ask(context.Background())
		first <- status
	}()
	<-looking
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if status, err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) || len(looking) > 0 {
		t.Errorf("the second: %d, %v, looked up %d times", status, err, len(looking))
	}
	close(goOn)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first: %d", status)
	}
	if status, err := ask(t.Context()); err != nil || status != http.StatusOK {
		t.Errorf("the third: %d, %v", status, err)
	}
}
