package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"refrain/feed"
)

// pageEvents is how many events the page shows.
const pageEvents = 50

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": percent, "who": who, "quote": quote, "web": web, "posts": posts,
}).Parse(pageHTML))

// pagePolicy lets the page run its own script and talk to its own server, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src " +
	"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page is GET /: the latest events, and those that come while it is open.
func (a *handlers) page(w http.ResponseWriter, r *http.Request) {
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, struct {
		Events           []feed.Match
		Max              int
		Reuse, Retracted string
	}{a.Recent.Latest(pageEvents), pageEvents, feed.ReuseType, feed.RetractedType})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = out.WriteTo(w) // a client that is gone has nobody to be told
}

// percent rounds as the page's script does.
func percent(share float64) string { return strconv.Itoa(int(math.Round(100*share))) + " %" }

// who names an occurrence: its author if known, and its post.
func who(o feed.Occurrence) string {
	name := o.Post
	if o.Source != "" {
		name = o.Source + " · " + name
	}
	if o.Author != "" {
		name = o.Author + " · " + name
	}
	return name
}

// quote is the text of an occurrence, marked where it was cut.
func quote(o feed.Occurrence) string {
	if o.TextCut {
		return o.Text + "…"
	}
	return o.Text
}

// web is link where a browser may be sent there, else "": whoever writes to the event topic may have put in anything.
func web(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return link
}

// posts names the posts that an event shows, and their authors, for the page's script to take it away when one is retracted.
func posts(m feed.Match) (string, error) {
	l, e, f := &m.Later, &m.Earlier, &m.First
	b, err := json.Marshal([][3]string{
		{l.Source, l.Post, l.Author}, {e.Source, e.Post, e.Author}, {f.Source, f.Post, f.Author},
	})
	return string(b), err
}
