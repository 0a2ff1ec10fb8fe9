package siege

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// attacks are what one client that means harm can do, each for some seconds.
var attacks = []struct {
	name string
	do   func(a *attacker, ctx context.Context)
}{
	{"text of one pair of characters", (*attacker).pairs},
	{"text of a megabyte", (*attacker).megabyte},
	{"variants of a long text", (*attacker).variants},
	{"copies, then an earlier variant", (*attacker).copies},
	{"sentences that all repeat each other", (*attacker).template},
	{"names of control characters", (*attacker).names},
	{"45,000 sentences in one post", (*attacker).sentences},
	{"made-up texts at full speed", (*attacker).fill},
	{"versions of one post", (*attacker).versions},
	{"sources and authors without end", (*attacker).identities},
	{"dates from 1970 to 9999", (*attacker).dates},
	{"deletions of posts nobody has", (*attacker).deletions},
	{"deletions by author", (*attacker).authors},
	{"bombs and broken bodies", (*attacker).bombs},
	{"what is no JSON", (*attacker).malformed},
	{"uploads whose answers are not read", (*attacker).unreadUploads},
	{"event streams that are not read", (*attacker).unreadStreams},
	{"requests that never end", (*attacker).slow},
	{"connections", (*attacker).connections},
	{"queries", (*attacker).queries},
	{"match and explain", (*attacker).lookups},
	{"long headers", (*attacker).headers},
	{"wrong credentials", (*attacker).credentials},
}

// runs are characters of which a tokeniser or a splitter of sentences looks far ahead.
var runs = []string{
	"_ア", ":א", ":ا", ":각", "\u0301", "\u0001", " ", "a.", "1,", "'", "“(", "@", "#", "http://", "RT @a: ", "\u200d",
	"🇩🇪", "．", "\r\n", "אּ\"", "각\u1160", "。」",
}

func (a *attacker) pairs(ctx context.Context) {
	run := runs[a.rand.IntN(len(runs))] + runs[a.rand.IntN(len(runs))]
	a.send(ctx, post{Text: strings.Repeat(run, (64<<10)<<a.rand.IntN(4)/len(run))})
}

func (a *attacker) megabyte(ctx context.Context) {
	a.send(ctx, post{Text: a.words(90_000)})
}

func (a *attacker) variants(ctx context.Context) {
	base := a.words(80_000)
	posts := make([]post, 30)
	for i := range posts {
		posts[i].Text = base + " " + a.word()
	}
	a.send(ctx, posts...)
}

func (a *attacker) copies(ctx context.Context) {
	text, now := a.words(9), time.Now()
	posts := make([]post, 20_000)
	for i := range posts {
		posts[i] = post{Text: text, Time: now.UnixMilli()}
	}
	a.send(ctx, posts...)
	a.send(ctx, post{Text: text + " " + a.word(), Time: now.Add(-time.Minute).UnixMilli()})
}

// template makes near repeats of near repeats: every sentence is like a thousand others.
func (a *attacker) template(ctx context.Context) {
	base, last := a.words(12), a.words(1500)
	var text strings.Builder
	for w := range strings.FieldsSeq(last) {
		text.WriteString(base + " " + w + ".\n")
	}
	a.send(ctx, post{Text: text.String()}, post{Text: text.String()})
}

func (a *attacker) names(ctx context.Context) {
	id, author := strings.Repeat("\u0001", 800), strings.Repeat("\u0002", 800)
	base := a.words(9)
	var text strings.Builder
	for range 120 {
		text.WriteString(base + " " + a.word() + ".\n")
	}
	for i := range 2 {
		a.send(ctx, post{ID: id + fmt.Sprint(a.n, i), Author: author, Text: text.String()})
	}
}

func (a *attacker) sentences(ctx context.Context) {
	var text strings.Builder
	for range 45_000 {
		text.WriteString(a.words(4) + ".\n")
	}
	a.send(ctx, post{ID: "many", Text: text.String()})
}

func (a *attacker) fill(ctx context.Context) {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		posts := make([]post, 2000)
		for i := range posts {
			posts[i].Text = a.words(12)
		}
		a.send(ctx, posts...)
	}
}

func (a *attacker) versions(ctx context.Context) {
	posts := make([]post, 5000)
	for i := range posts {
		posts[i] = post{ID: "one", Text: a.words(5), Time: time.Now().UnixMilli()}
	}
	a.send(ctx, posts...)
}

func (a *attacker) identities(ctx context.Context) {
	posts := make([]post, 5000)
	for i := range posts {
		posts[i] = post{Source: a.word(), Author: a.word(), Text: a.words(5)}
	}
	a.send(ctx, posts...)
}

func (a *attacker) dates(ctx context.Context) {
	posts := make([]post, 500)
	for i := range posts {
		dates := []any{
			0, 1, "1970-01-01T00:00:00Z", "2099-12-31T23:59:59Z", 253402300799, time.Now().Add(10 * time.Minute).Unix(),
			time.Now().Add(59 * time.Second).UnixMilli(), "never",
		}
		posts[i] = post{Text: a.words(6), Time: dates[a.rand.IntN(len(dates))]}
	}
	a.send(ctx, posts...)
}

func (a *attacker) deletions(ctx context.Context) {
	ids := []string{"/", "..", "a/b", "%00", strings.Repeat("x", 900), strings.Repeat("y", 900_000), "h-99999999"}
	for range 300 {
		a.request(ctx, http.MethodDelete, "/v1/posts/"+url.PathEscape(ids[a.rand.IntN(len(ids))]+a.word()), nil)
		if ctx.Err() != nil {
			return
		}
	}
}

func (a *attacker) authors(ctx context.Context) {
	for range 100 {
		a.request(ctx, http.MethodDelete, "/v1/authors/"+a.word()+"?source="+a.word(), nil)
	}
}

// bombs are gigabytes when they are unpacked, or end in the middle.
func (a *attacker) bombs(ctx context.Context) {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	zeros := make([]byte, 1<<20)
	for range 300 {
		_, _ = w.Write(zeros) // to a buffer
	}
	_ = w.Close()
	whole := body.Bytes()
	a.request(ctx, http.MethodPost, "/v1/posts", bytes.NewReader(whole), "Content-Encoding", "gzip")
	a.request(ctx, http.MethodPost, "/v1/posts", bytes.NewReader(whole[:len(whole)/2]), "Content-Encoding", "gzip")
	a.request(ctx, http.MethodPost, "/v1/match", bytes.NewReader(whole), "Content-Encoding", "gzip")
}

func (a *attacker) malformed(ctx context.Context) {
	for _, body := range []string{
		strings.Repeat("[", 1<<20), strings.Repeat(`{"id":`, 1<<18), strings.Repeat("no post\n", 100_000),
		`{"id":1e999,"text":"x"}`, `{"id":"a","text":"` + strings.Repeat(`\u0001`, 200_000) + `"}`,
		"[" + strings.Repeat("{},", 200_000) + "{}]",
	} {
		a.request(ctx, http.MethodPost, "/v1/posts", strings.NewReader(body))
	}
}

func (a *attacker) unreadUploads(ctx context.Context) {
	body := strings.Repeat("{}\n", 1<<20)
	var all []net.Conn
	for range 25 {
		all = append(all,
			a.open(a.head("POST",
				"/v1/posts?results=all")+fmt.Sprintf("Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s",
				len(body), body)))
	}
	a.hold(ctx, 5*time.Second, all)
}

func (a *attacker) unreadStreams(ctx context.Context) {
	var all []net.Conn
	for range 300 {
		all = append(all, a.open(a.head("GET", "/v1/events?from=start")+"\r\n"))
	}
	a.hold(ctx, 10*time.Second, all)
}

func (a *attacker) slow(ctx context.Context) {
	var all []net.Conn
	for range 100 {
		all = append(all, a.open("GET / HTTP/1.1\r\nHost: x\r\nX-A"),
			a.open(a.head("POST", "/v1/match")+"Content-Length: 1000000\r\n\r\n{"))
	}
	a.hold(ctx, 10*time.Second, all)
}

func (a *attacker) connections(ctx context.Context) {
	var all []net.Conn
	for range 1500 {
		all = append(all, a.open(""))
	}
	a.hold(ctx, 5*time.Second, all)
}

func (a *attacker) queries(ctx context.Context) {
	for _, path := range []string{
		"/v1/events?a=1;b=2", "/v1/posts/%2F/reuse", "/v1/posts/../../etc/passwd/reuse", "/v1/texts/zz",
		"/v1/texts/" + strings.Repeat("0", 32),
		"/v1/clusters?limit=1000000000", "/v1/events?from=start&until=now", "/metrics", "/v1/explain?a=b",
		"/" + strings.Repeat("a/", 10_000),
	} {
		a.request(ctx, http.MethodGet, path, nil)
	}
}

func (a *attacker) lookups(ctx context.Context) {
	text := strings.Repeat("_ア:א ", 20_000)
	a.request(ctx, http.MethodPost, "/v1/match", strings.NewReader(fmt.Sprintf(`{"text":%q}`, text)))
	a.request(ctx, http.MethodGet, "/v1/explain?a="+url.QueryEscape(text[:10_000])+"&b="+url.QueryEscape(text[:10_000]), nil)
	a.request(ctx, http.MethodPost, "/v1/match", strings.NewReader(fmt.Sprintf(`{"text":%q}`, a.words(50_000))))
}

func (a *attacker) headers(ctx context.Context) {
	a.request(ctx, http.MethodGet, "/v1/events?until=now", nil, "Last-Event-ID", strings.Repeat("9", 900_000))
	a.request(ctx, http.MethodGet, "/v1/clusters", nil, "X-Forwarded-For", strings.Repeat("1.1.1.1, ", 50_000))
}

func (a *attacker) credentials(ctx context.Context) {
	for _, header := range []string{
		"", "Bearer", "Bearer ", "Basic YTpi", "Bearer " + strings.Repeat("x", 500_000), "bearer " + malloryToken,
		"Bearer " + malloryToken + "\x00",
	} {
		for _, path := range []string{"/v1/webhooks", "/v1/models", "/v1/posts/a/reuse", "/metrics"} {
			if strings.ContainsRune(header, 0) { // the client would not send it
				continue
			}
			a.request(ctx, http.MethodGet, path, nil, "Authorization", header)
		}
	}
}
