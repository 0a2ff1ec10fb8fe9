package http

import (
	"errors"
	"fmt"
	"net/http"

	"refrain/internal/problem"
	"refrain/internal/quota"
)

// quotaProblem is the type of the problem that says that a client has sent, or caused, more than its share: 429 says the
// same of a queue that is full through no fault of the client.
const quotaProblem = "urn:refrain:problem:quota"

// recount makes what a refusal says the time to wait for all that this request has sent: the batches before the refused
// one were on their way still when it was asked for.
func (u *upload) recount(err error) {
	var over *quota.Exceeded
	if !errors.As(err, &over) {
		return
	}
	if now := u.h.cfg.Owed(&u.open.batch); now != nil {
		*over = *now
	}
}

// paceProblem is the type of the problem that a sender has to wait for look-ups (quotas.pace).
const paceProblem = "urn:refrain:problem:pace"

func overQuota(e *quota.Exceeded, again string) problem.Problem {
	return problem.Problem{
		Type: quotaProblem, Title: "Quota used up", Status: http.StatusTooManyRequests, RetryAfter: e.Wait,
		Detail: fmt.Sprintf("Not taken: %v.%s", e, again),
	}
}

// withQuota adds to the members of a problem which quota it is.
func withQuota(members map[string]any, e *quota.Exceeded) map[string]any {
	if members == nil {
		members = map[string]any{}
	}
	which := map[string]any{"kind": e.Kind, "limit": e.Limit}
	if e.Kind == quota.KindSource {
		which["source"] = e.Source
	}
	members["quota"] = which
	return members
}
