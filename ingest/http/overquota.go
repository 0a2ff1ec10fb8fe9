package http

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"refrain/internal/problem"
	"refrain/internal/quota"
)

// recount makes what a refusal says the time to wait for all that this request has sent: the batches before the refused
// one were on their way still when it was asked for.
func (u *upload) recount(err error) {
	var exceeded *quota.Exceeded
	if !errors.As(err, &exceeded) {
		return
	}
	if now := u.h.cfg.Owed(&u.open.batch); now != nil {
		*exceeded = *now
	}
}

// maxRetryAfter is the longest Retry-After of a quota or a full topic. Many clients sleep for as long as they are
// told, and by then a topic may have room again, or somebody may have given the client more.
const maxRetryAfter = time.Hour

func overQuota(e *quota.Exceeded, retryHint string) problem.Problem {
	return problem.Problem{
		Type: problem.Quota, Status: http.StatusTooManyRequests, RetryAfter: min(e.Wait, maxRetryAfter),
		Detail: fmt.Sprintf("Not taken: %v.%s%s", e, longWaitHint(e), retryHint),
	}
}

// longWaitHint says why to ask again before a long wait is over.
func longWaitHint(e *quota.Exceeded) string {
	switch {
	case e.Wait <= maxRetryAfter:
		return ""
	case e.Limit == quota.LimitShare:
		return " It counts only while more than half of the topic is used, so ask again every hour: there may be room before."
	}
	return " Ask again every hour: whoever runs the server may have given more by then."
}

// withQuota adds to the members of a problem which quota it is.
func withQuota(members map[string]any, e *quota.Exceeded) map[string]any {
	if members == nil {
		members = map[string]any{}
	}
	which := map[string]any{"kind": e.Kind, "limit": e.Limit, "wait": int64(e.Wait.Seconds())}
	if e.Kind == quota.KindSource {
		which["source"] = e.Source
	}
	members["quota"] = which
	return members
}
