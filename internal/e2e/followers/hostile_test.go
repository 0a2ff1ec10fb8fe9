package followers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// hostile are texts that would run, or break out, where a page took them for more than text.
var hostile = []string{
	`<script>fetch('/ran')</script>`, `</script><script>fetch('/ran')</script>`, `<img src=x onerror="fetch('/ran')">`,
	`"><svg onload=fetch('/ran')>`,
	`' onmouseover='fetch("/ran")' autofocus onfocus='fetch("/ran")'`,
	`<iframe srcdoc="<script>parent.fetch('/ran')</script>">`,
	`<a href="javascript:fetch('/ran')">x</a>`, `{{constructor.constructor("fetch('/ran')")()}}`, "${fetch('/ran')}",
	`--></style><body onload=fetch('/ran')>`,
	`\u003cscript>fetch('/ran')\u003c/script>`, `<meta http-equiv=refresh content="0;url=/ran">`,
	`<base href="//127.0.0.1:1/"><form action=/ran><input autofocus onfocus=submit()>`,
	"\u202e<script>fetch('/ran')</script>\u202c\u2066", "\u2028</li>\u2029<script>fetch('/ran')</script>",
	strings.Repeat("W", 5000) + "<script>fetch('/ran')</script>",
	"null\u0000<script>fetch('/ran')</script>", `<math><mtext><table><mglyph><style><img src onerror=fetch('/ran')>`,
}

// TestHostileTexts: no text, name or link runs on the page, neither as it comes nor as it stands there.
func TestHostileTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and a browser")
	}
	p := e2e.New(t)
	f := newFront(t, p.URL(""))
	var ran atomic.Int64
	f.Config.Handler.(*http.ServeMux).HandleFunc("/ran", func(http.ResponseWriter, *http.Request) { ran.Add(1) })
	p.Start()
	chromium(t, f.URL+"/")
	f.next("")
	p.Await(time.Minute, "the page", func() bool { return f.all(opened(1)) })
	last := ""
	for i, text := range hostile {
		var lines [][]byte
		for j := range 2 {
			last = fmt.Sprintf("%d-%d%s", i, j, `"><img src=x onerror=fetch('/ran')>`)
			line, err := json.Marshal(map[string]string{"id": last, "author": text[:min(len(text), 500)],
				"source": text[:min(len(text), 200)],
				"text":   fmt.Sprintf("alpha%[1]d beta%[1]d gamma%[1]d delta%[1]d %[2]s", i, text),
				"link":   "javascript:fetch('/ran')//" + text[:min(len(text), 200)]})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, append(line, '\n'))
		}
		p.Feed(lines, 2, func(int) {})
	}
	p.Await(time.Minute, "all of them live", func() bool {
		return f.all(func(s follow) bool { return has(last)(s) && len(s.Posts) >= len(hostile) })
	})
	f.next("") // has the page loaded anew: now they stand in it
	p.Await(time.Minute, "the page again", func() bool { return f.all(opened(1)) })
	if n := ran.Load(); n > 0 {
		t.Errorf("%d scripts ran", n)
	}
}

// spy is a page of another origin that tries what a browser lets it: it reports what it learns of each address.
const spy = `<!DOCTYPE html><title>Spy</title><script>
const tags = { object: "data", script: "src", img: "src", iframe: "src", embed: "src", link: "href", video: "src" };
const tell = (how, of) => new Promise(done => {
  const e = document.createElement(how);
  e.onload = () => done("load"); e.onerror = () => done("error");
  if (how === "link") e.rel = "stylesheet";
  e[tags[how]] = of;
  document.head.parentNode.append(e);
  setTimeout(() => done("nothing"), 3000);
});
async function all(of) {
  const got = {};
  await Promise.all(Object.keys(tags).map(async how => { got[how] = await tell(how, of); }));
  for (const mode of ["no-cors", "cors"])
    got[mode] = await fetch(of, { mode, credentials: "include" }).then(a => a.type + a.status, e => "error");
  return got;
}
(async () => {
  const to = "SERVER";
  const learned = { known: await all(to + "/v1/texts/KNOWN"), unknown: await all(to + "/v1/texts/00000000000000000000000000000000") };
  for (const type of ["text/plain", "application/x-www-form-urlencoded"])
    await fetch(to + "/v1/posts", {
      method: "POST", mode: "no-cors", headers: { "Content-Type": type }, body: '{"id":"forged","text":"forged"}',
    }).catch(() => {});
  await fetch(to + "/v1/posts/0-0", { method: "DELETE" }).catch(() => {});
  learned.opened = String(!!window.open(to + "/v1/texts/KNOWN"));
  await fetch("/learned", { method: "POST", body: JSON.stringify(learned) });
})();
</script>`

// TestPagesOfOthersLearnNothing: whether a text is known here no page elsewhere can tell, and it changes nothing.
func TestPagesOfOthersLearnNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and a browser")
	}
	s := &server{Process: e2e.New(t)}
	s.Start()
	s.pair()
	group := s.Matches()[0].Group.String()
	s.Await(time.Minute, "the text in the index", func() bool {
		resp, err := http.Get(s.URL("/v1/texts/" + group))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	before := s.Counters()["refrain_ingest_posts_total"]
	learned := make(chan string, 1)
	page := strings.NewReplacer("SERVER", s.URL(""), "KNOWN", group).Replace(spy)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/learned" {
			b, _ := io.ReadAll(r.Body)
			learned <- string(b)
			return
		}
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(other.Close)
	chromium(t, other.URL+"/")
	var got struct{ Known, Unknown map[string]string }
	select {
	case b := <-learned:
		if err := json.Unmarshal([]byte(b), &got); err != nil {
			t.Fatal(err)
		}
		t.Log(b)
	case <-time.After(time.Minute):
		t.Fatal("the page does not report")
	}
	for how, known := range got.Known {
		if known != got.Unknown[how] {
			t.Errorf("%s: %s of a text that is known, %s of another", how, known, got.Unknown[how])
		}
	}
	if len(got.Known) != 9 {
		t.Errorf("learned %v", got.Known)
	}
	if after := s.Counters()["refrain_ingest_posts_total"]; after != before {
		t.Errorf("%v posts, before %v", after, before)
	}
	if s.Retractions() != 0 {
		t.Error("a page has deleted a post")
	}
}
