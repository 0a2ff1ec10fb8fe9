// Package peers asks the processes that own partitions of the window what a text repeats, and whether they have heard of a
// deletion, for one that owns none of them, or not all.
//
// Each owner is asked once for all that it has, over HTTP and side by side; of a text it answers with the events that a look-up
// in its rows would give. What nobody has answered for is named: an answer is whole, or says that it is not.
package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"refrain/feed"
)

// Where a process answers others.
const (
	MatchPath    = "/internal/v1/match"
	DeletionPath = "/internal/v1/deletions"
)

// Query is a text to look up.
type Query struct {
	Text, Lang, Threshold string
	Limit                 int // matches in one answer
}

// Sentence is what a sentence of the text repeats.
type Sentence struct {
	Index     int
	Matches   []feed.Match
	Truncated bool // there are more, which the answer had no room for
}

// Answer is what the rows of some partitions say. Sentences without matches may be left out.
type Answer struct {
	Partitions []int // whose rows were looked in, and are complete
	Sentences  []Sentence
}

// Owner is who serves a partition.
type Owner struct {
	Worker  string // its name
	Address string
	Epoch   int64
	Silent  bool // it has not been heard of for a while, or has given the partition up
}

// Asker asks owners.
type Asker struct {
	Token string // that the processes show each other; "": none
	// Timeout is how long an owner may take; those that have not answered then are missing.
	Timeout time.Duration
	// MaxAnswer bounds the bytes of one answer, MaxAnswers those of all answers to all questions at a time.
	MaxAnswer, MaxAnswers int64
	Client                *http.Client

	once sync.Once
	room *semaphore.Weighted // of MaxAnswers
}

// DefaultAsker asks without a token. It follows no redirect, and goes through no proxy: the token is for the owner alone.
func DefaultAsker() *Asker {
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy = nil
	client := &http.Client{Transport: direct, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Asker{Timeout: 2 * time.Second, MaxAnswer: maxAnswer, MaxAnswers: 2 * maxAnswer, Client: client}
}

// maxAnswer is more than an owner answers at worst: 2 MiB of texts and one match more of the longest, if JSON makes six
// bytes of each, and the names of fields of 4,000 matches.
const maxAnswer = 32 << 20

// Result is the answer of all that could be asked.
type Result struct {
	Sentences []Sentence // in rising order of their indexes
	Missing   []int      // the partitions that nobody has answered for, in rising order
	Reasons   []error    // why, an error for each owner that has not answered
}

// Ask looks a text up in the rows of partitions 0 to n-1: in those of this process by local, in the others through their
// owners. Its error is ctx's.
func (a *Asker) Ask(ctx context.Context, q Query, n int, local *Answer, owners []Owner) (Result, error) {
	body, err := json.Marshal(query{Version: version, Text: q.Text, Lang: q.Lang, Threshold: q.Threshold, Limit: q.Limit})
	if err != nil {
		return Result{}, err
	}
	return a.askAll(ctx, question{MatchPath, body}, n, q.Limit, local, owners)
}

// AskDeleted asks the owners of partitions 0 to n-1 whether their rows show nothing any more that was deleted before a position
// of the control topic. Those that are behind have most of Timeout to catch up. Its error is ctx's.
func (a *Asker) AskDeleted(ctx context.Context, before int64, n int, local *Answer, owners []Owner) (Result, error) {
	body, err := json.Marshal(deletionQuery{Version: version, Before: before, WaitMS: a.Wait().Milliseconds()})
	if err != nil {
		return Result{}, err
	}
	return a.askAll(ctx, question{DeletionPath, body}, n, 0, local, owners)
}

// Wait is how long one that is asked may wait for itself: the answer needs some time too.
func (a *Asker) Wait() time.Duration { return a.Timeout * 3 / 4 }

// question is what a process is asked.
type question struct {
	path string
	body []byte
}

func (a *Asker) askAll(ctx context.Context, q question, n, limit int, local *Answer, owners []Owner) (Result, error) {
	byAddress, reasons := group(without(n, local), owners)
	addresses := make([]string, 0, len(byAddress))
	for address := range byAddress {
		addresses = append(addresses, address)
	}
	slices.Sort(addresses)
	answers := make([]*Answer, len(addresses))
	failed := make([]error, len(addresses))
	held := holding{asker: a}
	defer held.release()
	var all errgroup.Group
	for i, address := range addresses {
		all.Go(func() error {
			answers[i], failed[i] = a.ask(ctx, address, q, &held)
			return nil
		})
	}
	_ = all.Wait() // the errors are in failed
	for _, err := range failed {
		if err != nil {
			reasons = append(reasons, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return merge(n, append(answers, local), limit, reasons), nil
}

// without are the partitions that an answer, which may be nil, does not speak of.
func without(n int, a *Answer) (others []int) {
	for q := range n {
		if a == nil || !slices.Contains(a.Partitions, q) {
			others = append(others, q)
		}
	}
	return others
}

// group deals partitions out to the addresses of their owners. Nobody waits for one that is known to be silent.
func group(partitions []int, owners []Owner) (byAddress map[string][]int, reasons []error) {
	byAddress = map[string][]int{}
	for _, q := range partitions {
		switch {
		case q >= len(owners) || owners[q].Address == "":
			reasons = append(reasons, fmt.Errorf("partition %d: nobody serves it", q))
		case owners[q].Silent:
			reasons = append(reasons, fmt.Errorf("partition %d: %s has not been heard of for a while, or has given it up", q, owners[q].Address))
		default:
			byAddress[owners[q].Address] = append(byAddress[owners[q].Address], q)
		}
	}
	return byAddress, reasons
}

// RefusedError says that an owner has answered with a status other than 200.
type RefusedError struct {
	Status int
	Detail string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), e.Detail)
}

func (a *Asker) ask(ctx context.Context, address string, q question, held *holding) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if a.Token != "" {
		req.Header.Set("Authorization", "Bearer "+a.Token)
	}
	resp, err := a.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := a.read(ctx, resp, held)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return answer, nil
}

// read reads an answer once there is room for it.
func (a *Asker) read(ctx context.Context, resp *http.Response, held *holding) (*Answer, error) {
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // what came of it will do
		return nil, &RefusedError{resp.StatusCode, detail(body)}
	}
	size := resp.ContentLength
	if size < 0 { // a version before, or a proxy, does not say
		size = a.MaxAnswer
	}
	if size > a.MaxAnswer {
		return nil, a.errTooLarge()
	}
	if err := held.acquire(ctx, size); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, size+1))
	held.giveBack(size - int64(len(data))) // or answers of unknown size would leave no room for each other
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > size {
		return nil, a.errTooLarge()
	}
	return decode(data)
}

func (a *Asker) errTooLarge() error {
	return fmt.Errorf("its answer has more than %d bytes: look up less text at once", a.MaxAnswer)
}

// maxProblem bounds what is read of an answer that says why there is none.
const maxProblem = 64 << 10

// detail is what a problem document says, or the beginning of what came instead.
func detail(body []byte) string {
	var p struct{ Detail string }
	if json.Unmarshal(body, &p) == nil && p.Detail != "" {
		return p.Detail
	}
	return fmt.Sprintf("%.200q", body)
}
