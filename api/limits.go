package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"refrain/internal/check"
	"refrain/internal/places"
	"refrain/internal/problem"
)

// Limits bound what requests may take, all together.
type Limits struct {
	ReadTimeout  time.Duration // for a client to send the body of a request that is no upload; above 0
	WriteTimeout time.Duration // for a client to read each 64 KiB of an answer; above 0
	Matches      int           // requests that look texts up or explain, at a time; 1 or more
	MatchResults int           // matches in one answer, 1 or more; what is left out is marked
	Patience     time.Duration // how long one of them waits for its turn; above 0
	MatchTimeout time.Duration // how long a text may be looked up; above 0
}

// DefaultLimits are those of a service.
func DefaultLimits() Limits {
	return Limits{
		ReadTimeout: time.Minute, WriteTimeout: 30 * time.Second, Matches: 8, MatchResults: 10_000,
		Patience: 2 * time.Second, MatchTimeout: 20 * time.Second,
	}
}

func (l *Limits) validate() error {
	return errors.Join(
		check.Positive("read timeout", l.ReadTimeout), check.Positive("write timeout", l.WriteTimeout),
		check.AtLeast(1, "matches", l.Matches), check.AtLeast(1, "match results", l.MatchResults),
		check.Positive("patience", l.Patience), check.Positive("match timeout", l.MatchTimeout),
	)
}

var errBusy = errors.New("too many look-ups at a time")

var busy = problem.Problem{
	Type: problem.Matches, Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
	Detail: "As many texts are being looked up or explained as limits.matches allows, or this client has its share. Ask again.",
}

// errHeld says that the windows were in use all the time: a look-up of posts has them while the event topic takes nothing.
var errHeld = errors.New("the windows were not free in time")

func held(after time.Duration) problem.Problem {
	return problem.Problem{
		Type: problem.WindowHeld, Status: http.StatusServiceUnavailable, RetryAfter: 10 * time.Second,
		Detail: fmt.Sprintf("The text could not be looked up within %v: posts are being compared, or wait because the "+
			"event topic takes no events. "+
			"/readyz says whether something is wrong. Ask again.", after),
	}
}

// turns are for requests that cost processor time. One client leaves others a quarter of them.
type turns struct {
	free     *places.Places
	patience time.Duration
}

func newTurns(l Limits) turns { return turns{places.New(l.Matches), l.Patience} }

// begin waits for a turn, which ends with the function that it returns.
func (t turns) begin(r *http.Request) (end func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), t.patience)
	defer cancel()
	end, err = t.free.Await(ctx, places.Client(r, TokenName(r.Context())))
	if err != nil && r.Context().Err() == nil {
		return nil, errBusy
	}
	return end, err
}

// crowded refuses requests on connections beyond the limit, all but those that tell how the server is.
func (a *handlers) crowded(health bool, next http.Handler) http.Handler {
	if a.Crowded == nil || health {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Crowded(r) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // nobody waits for the rest of a body
		a.refuse(w, r, "", "crowded", problem.Problem{
			Type: problem.Connections, Status: http.StatusServiceUnavailable, RetryAfter: 5 * time.Second,
			Detail: "There are as many connections as limits.connections allows. Come back, and close connections that are " +
				"not needed.",
		})
	})
}
