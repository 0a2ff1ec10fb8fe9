package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/http/httpguts"

	"refrain/internal/check"
)

const maxBatch = 100

// Check reports everything that is wrong with a configuration, before there is anything to deliver from. What it says shows no
// secret.
func (c *Config) Check() error {
	e := Endpoint{Config: *c}
	return errors.Join(e.checkConfig()...)
}

// check is Check, and keeps what has to be read of the configuration.
func (e *Endpoint) check() error {
	errs := []error{check.Set("topic", e.deps.Topic != nil), check.Set("logger", e.deps.Logger != nil)}
	return errors.Join(append(errs, e.checkConfig()...)...)
}

func (e *Endpoint) checkConfig() (errs []error) {
	if !validName.MatchString(e.Name) || strings.Contains(e.Name, "..") {
		errs = append(errs, errors.New("name: want letters, digits and any of -_. between them"))
	}
	if err := e.readURL(); err != nil {
		errs = append(errs, fmt.Errorf("url: %w", err))
	}
	return slices.Concat(errs, e.readSecrets(), e.checkHeaders(), e.checkNumbers())
}

func (e *Endpoint) readSecrets() (errs []error) {
	if len(e.Secrets) == 0 {
		errs = append(errs, errors.New("secrets: want at least one, whsec_ and base64"))
	}
	for i, s := range e.Secrets {
		signer, err := newSigner(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("secret %d: %w", i+1, err))
		}
		e.signers = append(e.signers, signer)
	}
	return errs
}

func (e *Endpoint) checkHeaders() (errs []error) {
	for name, value := range e.Headers {
		if err := checkHeader(name, value); err != nil {
			errs = append(errs, fmt.Errorf("header %q: %w", name, err))
		}
	}
	return errs
}

func (e *Endpoint) checkNumbers() []error {
	errs := []error{
		check.AtLeast(1, "batch", e.Batch), check.Positive("batch_wait", e.BatchWait), check.Positive("timeout", e.Timeout),
		check.AtLeast(1, "number of retries", len(e.Retries)), check.AtLeast(1, "concurrency", e.Concurrency),
		check.AtLeast(1, "pending", e.Pending), check.AtLeast(0, "min_occurrences", e.Filter.MinOccurrences),
		e.Filter.validate(),
	}
	if e.Batch > maxBatch {
		errs = append(errs, fmt.Errorf("batch: %d events, want at most %d", e.Batch, maxBatch))
	}
	for _, pause := range e.Retries {
		errs = append(errs, check.Positive("retries", pause))
	}
	return errs
}

var validName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9_-])?$`)

func (e *Endpoint) readURL() error {
	u, err := url.Parse(strings.TrimSpace(e.URL))
	if err != nil {
		return errors.New("not a URL") // err would show it, credentials and all
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return errors.New("want https://HOST/PATH, or http")
	}
	e.target = target{u}
	return nil
}

// newSigner reads a secret. The library takes any base64; the specification wants 24 to 64 bytes.
func newSigner(secret string) (*webhooks.Webhook, error) {
	const minKeyBytes, maxKeyBytes = 24, 64
	encoded, ok := strings.CutPrefix(strings.TrimSpace(secret), "whsec_")
	if !ok {
		return nil, errors.New("want whsec_ and base64")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("what follows whsec_ is not base64, with its padding")
	}
	if len(key) < minKeyBytes || len(key) > maxKeyBytes {
		return nil, fmt.Errorf("%d bytes, want %d to %d", len(key), minKeyBytes, maxKeyBytes)
	}
	return webhooks.NewWebhookRaw(key)
}

// ownHeaders are set by delivery, or by the transport.
var ownHeaders = []string{"content-type", "content-length", "transfer-encoding", "connection", "host", "traceparent",
	webhooks.HeaderWebhookID, webhooks.HeaderWebhookTimestamp, webhooks.HeaderWebhookSignature}

func checkHeader(name, value string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return errors.New("not a header's name")
	case slices.Contains(ownHeaders, strings.ToLower(name)):
		return errors.New("set by delivery itself")
	case !httpguts.ValidHeaderFieldValue(value):
		return errors.New("its value has a character that no header may have")
	}
	return nil
}
