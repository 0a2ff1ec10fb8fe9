package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"refrain/internal/problem"
	"refrain/internal/retry"
	"refrain/publish/webhook"
)

// Of several processes one runs a webhook, and it alone can say how that is, or change it. Requests that another one is sent
// are passed on to it: clients need not know which it is.

// askedOn marks requests that were passed on: nobody passes them on again.
const askedOn = "Refrain-Asked-On"

// place is what the others are told of what runs somewhere.
type place struct {
	Worker  string `json:"worker"`
	Address string `json:"address"`
}

func placeKey(name string) string { return "runs/" + rolePublish + "/" + name }

// putPlace says that this process runs a webhook, as soon as the store takes it.
func (n *node) putPlace(ctx context.Context, name string) {
	data, _ := json.Marshal(place{n.cfg.worker(), n.cfg.address(n.listening)}) // two strings
	for pauses := retry.Steady(); n.store.Put(ctx, placeKey(name), data) != nil; {
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return
		}
	}
}

var errNobodyRuns = errors.New("no process runs it now, or the one that does has only begun to")

// placeOf is where a webhook runs, according to who began to run it last.
func (n *node) placeOf(ctx context.Context, name string) (p place, err error) {
	data, err := n.store.Get(ctx, placeKey(name))
	if err != nil {
		return p, err
	}
	if data == nil {
		return p, errNobodyRuns
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%s: %w", placeKey(name), err)
	}
	if p.Address == n.cfg.address(n.listening) { // it has run here, and does not any more
		return p, errNobodyRuns
	}
	return p, nil
}

// Remote implements api.Webhooks.
func (w *webhooks) Remote(r *http.Request, name string) http.Handler {
	h := w.find(name)
	if h == nil || !w.n.cfg.onBroker() || h.running.Load() {
		return nil
	}
	if r.Header.Get(askedOn) != "" {
		return unavailable(name, errNobodyRuns)
	}
	ctx, cancel := context.WithTimeout(r.Context(), w.n.asker.Timeout)
	defer cancel()
	p, err := w.n.placeOf(ctx, name)
	if err != nil {
		return unavailable(name, err)
	}
	return w.n.forward(p, name)
}

// forward hands a request to another process, as the client that has sent it.
func (n *node) forward(p place, name string) http.Handler {
	to, err := url.Parse(p.Address)
	if err != nil {
		return unavailable(name, err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: n.asker.Client.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // which the other one may be particular about
			r.Out.Header.Set(askedOn, n.cfg.worker())
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			unavailable(name, fmt.Errorf("worker %s at %s: %w", p.Worker, p.Address, err)).ServeHTTP(w, r)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), passTimeout)
		defer cancel()
		proxy.ServeHTTP(w, r.WithContext(ctx))
	})
}

// passTimeout is how long another process may take for a request about a webhook.
const passTimeout = 10 * time.Second

func unavailable(name string, err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.Problem{
			Type: problem.WebhookAway, Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
			Detail: fmt.Sprintf("Webhook %q is run by another process, which cannot be asked: %v.", name, err),
		})
	})
}

// remoteStatus asks the process that runs a webhook how it is.
func (w *webhooks) remoteStatus(r *http.Request, name string) (*webhook.Status, error) {
	ctx, cancel := context.WithTimeout(r.Context(), w.n.asker.Timeout)
	defer cancel()
	p, err := w.n.placeOf(ctx, name)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Address+"/v1/webhooks", nil)
	if err != nil {
		return nil, err
	}
	req.Host = r.Host
	req.Header.Set("Authorization", r.Header.Get("Authorization"))
	req.Header.Set(askedOn, w.n.cfg.worker())
	resp, err := w.n.asker.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readStatus(resp, name)
}

// maxStatuses bounds the answer of another process.
const maxStatuses = 8 << 20

func readStatus(resp *http.Response, name string) (*webhook.Status, error) {
	var answer struct{ Webhooks []webhook.Status }
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxStatuses)).Decode(&answer); err != nil {
		return nil, err
	}
	for i := range answer.Webhooks {
		if s := &answer.Webhooks[i]; s.Name == name && s.State != webhook.Unknown {
			return s, nil
		}
	}
	return nil, errNobodyRuns
}
