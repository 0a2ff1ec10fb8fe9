package server

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"

	"refrain/api"
	"refrain/ingest"
	"refrain/internal/meters"
	"refrain/internal/quota"
	"refrain/internal/retry"
	"refrain/shard"
	"refrain/split"
)

// quotas ask before a batch is taken, and count what it has caused.
type quotas struct {
	log     *slog.Logger
	counted *quota.Quotas
	now     func() time.Time
	warning rate.Sometimes
	pace    *pace

	refused, waits metric.Int64Counter
	waited         metric.Float64Counter
}

// senderOf is whom what comes over HTTP is counted for.
func senderOf(r *http.Request) string { return string(quota.Token(api.TokenName(r.Context()))) }

func (q *quotas) openMetrics() {
	const scope = "refrain/quota"
	q.refused = meters.Counter(scope, "refrain_quota_refused",
		"Batches of posts, and deletions, refused with 429 because a quota was used up.")
	q.waits = meters.Counter(scope, "refrain_quota_waits",
		"Batches that had to wait: of feeds because a quota was used up, of all because look-ups were behind.")
	var err error
	q.waited, err = otel.Meter(scope).Float64Counter("refrain_quota_wait_seconds",
		metric.WithDescription("How long they waited, all together."))
	meters.Handle(err)
}

// initSeries makes every series that there can be, as 0: the increase of one that begins with 1 is 0, and no alert
// would fire.
func (q *quotas) initSeries(c *quota.Config) {
	ctx := context.Background()
	tokens, sources := append(slices.Collect(maps.Values(c.Tokens)), c.Token),
		append(slices.Collect(maps.Values(c.Sources)), c.Source)
	for _, of := range series(quota.KindToken, tokens) {
		q.refused.Add(ctx, 0, of)
	}
	for _, of := range series(quota.KindSource, sources) {
		q.refused.Add(ctx, 0, of)
		q.initWaits(of)
	}
	for _, of := range series(quota.KindFeed, []quota.Limits{c.Feed}) {
		q.initWaits(of)
	}
	for _, kind := range []string{quota.KindToken, quota.KindFeed} {
		q.initWaits(which(&quota.Exceeded{Kind: kind, Limit: limitPace}))
	}
}

func (q *quotas) initWaits(of metric.AddOption) {
	q.waits.Add(context.Background(), 0, of)
	q.waited.Add(context.Background(), 0, of)
}

func series(kind string, all []quota.Limits) (of []metric.AddOption) {
	for i := range all {
		for _, limit := range all[i].Names() {
			of = append(of, which(&quota.Exceeded{Kind: kind, Limit: limit}))
		}
	}
	return of
}

func which(e *quota.Exceeded) metric.AddOption {
	return metric.WithAttributes(attribute.String("kind", e.Kind), attribute.String("limit", e.Limit))
}

// admit refuses a client's batch whose quota is used up, and holds it back while look-ups are behind. What it lets in is under
// way until release is called.
func (q *quotas) admit(ctx context.Context, b *ingest.Batch) (release func(), err error) {
	e := q.exceeded(b)
	if e == nil {
		return q.awaitPace(ctx, b)
	}
	q.refused.Add(context.Background(), 1, which(e))
	q.warn("posts refused: a quota is used up", e)
	return nil, e
}

// await holds a feed's batch back until its quota lets it in. Meanwhile touch tells that its partition is silent, and not
// idle. The broker or file keeps what is behind it.
func (q *quotas) await(ctx context.Context, b *ingest.Batch, touch func(partition string)) (release func(), err error) {
	e := q.exceeded(b)
	if e == nil {
		return q.followPace(ctx, b, touch)
	}
	q.waits.Add(ctx, 1, which(e))
	for ; e != nil; e = q.exceeded(b) {
		q.warn("a feed waits: its quota is used up", e)
		touch(b.Partition)
		pause := min(e.Wait, time.Second)
		if err := retry.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		q.waited.Add(ctx, pause.Seconds(), which(e))
	}
	return q.followPace(ctx, b, touch)
}

// room is how many bytes of posts a sender may well send at once.
func (q *quotas) room(sender string) int { return q.pace.room(sender) }

func (q *quotas) exceeded(b *ingest.Batch) *quota.Exceeded {
	if len(b.Posts)+len(b.Rejected) == 0 {
		return q.counted.AdmitDeletions(quota.Sender(b.Sender), b.Sources())
	}
	return q.counted.Admit(quota.Sender(b.Sender), b.Sources())
}

// charge counts what a batch took, once it is durable. Lines that are no posts count as posts
// that name no source, deletions as posts of theirs.
func (q *quotas) charge(b *ingest.Batch, written split.Written) {
	q.pace.appended(b.Sender, &written)
	used := written.BySource
	add := func(source string, posts int) {
		u := used[source]
		u.Posts += int64(posts)
		used[source] = u
	}
	if n := len(b.Rejected); n > 0 {
		add("", n)
	}
	for _, t := range b.Deleted {
		add(t.Source, 1)
	}
	q.counted.Charge(quota.Sender(b.Sender), used)
}

// caused counts events for whoever sent the post that they were found for.
func (q *quotas) caused(origin, source string, events int) {
	if q.counted == nil { // posts come in elsewhere
		return
	}
	q.counted.ChargeEvents(quota.Sender(origin), source, events)
}

// spent is told of look-ups of a worker whose events are durable.
func (q *quotas) spent(worker int, all []shard.Spent) { q.pace.spent(worker, all) }

// warn logs, now and then, who is held back: the metrics have no names.
func (q *quotas) warn(what string, e *quota.Exceeded) {
	q.warning.Do(func() {
		q.log.Warn(what, "kind", e.Kind, "limit", e.Limit, "sender", e.Sender.Name(), "source", e.Source, "wait", e.Wait)
	})
}

// tightAbove is the part of the sentence topic above which nobody may use more than a share of it.
const tightAbove = 0.5

// tight reports whether room in the sentence topic is short. What cannot be asked is not: the append will tell.
func (s *Server) tight() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	size, err := s.node.sentences.Size(ctx)
	return err == nil && float64(size.Bytes) >= tightAbove*float64(size.MaxBytes)
}
