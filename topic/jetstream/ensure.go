package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/retry"
)

// Streams of a cluster are somebody else's to look after. They are made as we want them; of one that is there what only
// keeps more is changed, what could lose records or cannot be changed is an error that says how to mend it, and all else
// (placement, tags, compression) is left as it is.

// SettingError says that a stream has a setting with which it cannot keep a topic or a store.
type SettingError struct {
	Stream, Setting, Is, Want string
	Command                   string // that mends it
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("stream %s has %s %s, want %s: %s", e.Stream, e.Setting, e.Is, e.Want, e.Command)
}

// defaultReplicas outlive any one server, and agree without it.
const defaultReplicas = 3

func (c *Cluster) ensureTopic(ctx context.Context, cfg TopicConfig, w *watched) (lineage, error) {
	config, err := c.ensure(ctx, cfg.stream(lineage{newIncarnation(1)}), func(have *js.StreamConfig) error {
		if _, ours := have.Metadata[metadataPrefix+"partitions"]; !ours {
			return fmt.Errorf("there is a stream %s that is not of Refrain: give the topics another name (topics.name), "+
				"or delete it with all it holds: nats stream rm %s", cfg.Name, cfg.Name)
		}
		return cfg.checkFixed(have.Metadata)
	})
	if err != nil {
		return nil, err
	}
	w.opened = config
	return parseLineage(config.Metadata[metadataLineage])
}

func (c *Cluster) ensureStore(ctx context.Context, name string, w *watched) (err error) {
	w.opened, err = c.ensure(ctx, js.StreamConfig{
		Name: bucketPrefix + name, Subjects: []string{"$KV." + name + ".>"}, Storage: js.FileStorage,
		MaxMsgsPerSubject: 1, MaxBytes: -1, MaxMsgs: -1, MaxMsgSize: -1, MaxConsumers: -1,
		Discard: js.DiscardNew, AllowRollup: true, DenyDelete: true,
	}, func(*js.StreamConfig) error { return nil })
	return err
}

// ensure makes a stream, or changes one that is there as far as it should and may be. It returns what it is then.
func (c *Cluster) ensure(ctx context.Context, want js.StreamConfig, accept func(have *js.StreamConfig) error) (*js.StreamConfig, error) {
	var config *js.StreamConfig
	try := func(ctx context.Context) (err error) {
		config, err = c.ensureOnce(ctx, want, accept)
		return err
	}
	if err := retryFor(ctx, availableWait, isUnavailable, try); err != nil {
		return nil, c.explainPlaces(err)
	}
	return config, nil
}

func (c *Cluster) ensureOnce(ctx context.Context, want js.StreamConfig, accept func(*js.StreamConfig) error) (*js.StreamConfig, error) {
	// A stored message is read from the leader alone: another one may not have the last ones yet.
	want.AllowDirect, want.Replicas = false, c.replicas()
	stream, err := c.js.Stream(ctx, want.Name)
	if errors.Is(err, js.ErrStreamNotFound) {
		return c.create(ctx, want)
	}
	if err != nil {
		return nil, explainAPI(err, want.Name)
	}
	have := stream.CachedInfo().Config
	if err := accept(&have); err != nil {
		return nil, err
	}
	if err := errors.Join(c.refusals(&have, &want)...); err != nil {
		return nil, err
	}
	c.logKept(&have, &want)
	return c.raise(ctx, have, &want, c.cfg.Replicas)
}

// recheck looks at the settings of a stream that is open: somebody may have changed them. What only keeps more is changed
// back, with the replicas that it had.
func (c *Cluster) recheck(ctx context.Context, opened, have *js.StreamConfig) error {
	err := errors.Join(c.refusals(have, opened)...)
	if err == nil {
		_, err = c.raise(ctx, *have, opened, opened.Replicas)
	}
	if err != nil {
		return fmt.Errorf("settings were changed, so that nothing is appended: %w", err)
	}
	return nil
}

func (c *Cluster) create(ctx context.Context, want js.StreamConfig) (*js.StreamConfig, error) {
	stream, err := c.js.CreateStream(ctx, want)
	if hasCode(err, codeNoCluster) && c.cfg.Replicas == 0 {
		c.cfg.Logger.Warn("the NATS server is no cluster: each topic is kept once, and lost with the server's disk",
			"servers", c.cfg.Conn.String())
		c.setAlone()
		want.Replicas = 1
		stream, err = c.js.CreateStream(ctx, want)
	}
	if errors.Is(err, js.ErrStreamNameAlreadyInUse) { // another process was first
		return nil, errChanged
	}
	if err != nil {
		return nil, explainAPI(err, want.Name)
	}
	return &stream.CachedInfo().Config, nil
}

func (c *Cluster) setAlone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alone = true
}

// replicas is how many of each new stream there are.
func (c *Cluster) replicas() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cfg.Replicas > 0:
		return c.cfg.Replicas
	case c.alone:
		return 1
	}
	return defaultReplicas
}

// refusals are the settings that could lose records, or that cannot be changed.
func (c *Cluster) refusals(have, want *js.StreamConfig) (errs []error) {
	refuse := func(wrong bool, setting, is, wants, command string) {
		if wrong {
			errs = append(errs, &SettingError{have.Name, setting, is, wants, "nats stream " + command})
		}
	}
	edit := func(flag string) string { return "edit " + have.Name + " " + flag }
	remove := "rm " + have.Name + " deletes it with all it holds, after which it is made anew"
	refuse(have.Storage != want.Storage, "storage", have.Storage.String(), want.Storage.String(), remove)
	refuse(have.Retention != want.Retention, "retention", have.Retention.String(), want.Retention.String(), remove)
	refuse(have.Mirror != nil, "mirror", "of another stream", "none", remove)
	refuse(have.Sealed, "sealed", "true", "false", remove)
	refuse(have.DenyPurge && !want.DenyPurge, "deny purge", "true", "false", remove)
	refuse(have.NoAck, "acknowledgements", "off", "on", edit("--ack"))
	refuse(have.Discard != want.Discard, "discard", have.Discard.String(), want.Discard.String(),
		edit("--discard="+map[js.DiscardPolicy]string{js.DiscardOld: "old", js.DiscardNew: "new"}[want.Discard]))
	refuse(have.MaxMsgs > 0, "max messages", strconv.FormatInt(have.MaxMsgs, 10), "no limit", edit("--max-msgs=-1"))
	perSubject := max(want.MaxMsgsPerSubject, 0)
	refuse(max(have.MaxMsgsPerSubject, 0) != perSubject, "max messages per subject", strconv.FormatInt(have.MaxMsgsPerSubject, 10),
		limit(perSubject), edit("--max-msgs-per-subject="+strconv.FormatInt(cmpOr(perSubject, -1), 10)))
	refuse(have.MaxMsgSize > 0 && int(have.MaxMsgSize) < c.cfg.MaxPayload, "max message size", strconv.Itoa(int(have.MaxMsgSize)),
		"no limit", edit("--max-msg-size=-1"))
	refuse(len(have.Subjects) != 1 || have.Subjects[0] != want.Subjects[0], "subjects", fmt.Sprint(have.Subjects), want.Subjects[0],
		edit(fmt.Sprintf("--subjects='%s'", want.Subjects[0])))
	refuse(want.MaxMsgsPerSubject > 0 && have.MaxAge > 0, "max age", have.MaxAge.String(), "no limit: it keeps the last values",
		edit("--max-age=0"))
	return errs
}

func cmpOr(n, or int64) int64 {
	if n == 0 {
		return or
	}
	return n
}

func limit(n int64) string {
	if n <= 0 {
		return "no limit"
	}
	return strconv.FormatInt(n, 10)
}

// raise makes a stream keep more, and have so many replicas at least. What it keeps beyond what is wanted it goes on keeping:
// another process may be told to.
func (c *Cluster) raise(ctx context.Context, have js.StreamConfig, want *js.StreamConfig, replicas int) (*js.StreamConfig, error) {
	var changed []any
	if longer(have.MaxAge, want.MaxAge) {
		changed = append(changed, "maxAge", want.MaxAge)
		have.MaxAge = want.MaxAge
	}
	if larger(have.MaxBytes, want.MaxBytes) {
		changed = append(changed, "maxBytes", want.MaxBytes)
		have.MaxBytes = want.MaxBytes
	}
	if have.Replicas < replicas {
		changed = append(changed, "replicas", replicas)
		have.Replicas = replicas
	}
	if have.AllowDirect {
		changed = append(changed, "allowDirect", false)
		have.AllowDirect = false
	}
	if len(changed) == 0 {
		return &have, nil
	}
	stream, err := c.js.UpdateStream(ctx, have)
	if err != nil {
		return nil, fmt.Errorf("change %v of stream %s: %w", changed, have.Name, explainAPI(err, have.Name))
	}
	c.cfg.Logger.Info("a stream is changed", append([]any{"stream", have.Name}, changed...)...)
	return &stream.CachedInfo().Config, nil
}

// logKept says what is left as it is although it differs.
func (c *Cluster) logKept(have, want *js.StreamConfig) {
	if longer(want.MaxAge, have.MaxAge) || larger(want.MaxBytes, have.MaxBytes) {
		c.cfg.Logger.Warn("a stream keeps more than is configured, and goes on doing so", "stream", have.Name,
			"maxAge", have.MaxAge, "maxBytes", have.MaxBytes, "configuredMaxAge", want.MaxAge, "configuredMaxBytes", want.MaxBytes,
			"command", fmt.Sprintf("nats stream edit %s --max-age=%s --max-bytes=%d", have.Name, want.MaxAge, want.MaxBytes))
	}
	if have.Replicas < want.Replicas && c.conn.ConnectedClusterName() != "" {
		c.cfg.Logger.Warn("a stream has fewer replicas than it could", "stream", have.Name, "replicas", have.Replicas,
			"command", fmt.Sprintf("nats stream edit %s --replicas=%d", have.Name, want.Replicas))
	}
}

// longer: b is a longer limit of age than a. No limit is the longest.
func longer(a, b time.Duration) bool { return a > 0 && (b == 0 || b > a) }

// larger: b is a greater limit of bytes than a.
func larger(a, b int64) bool { return a > 0 && (b <= 0 || b > a) }

// retryFor tries again what is worth it, for some time or until ctx ends.
func retryFor(ctx context.Context, wait time.Duration, again func(error) bool, try func(context.Context) error) error {
	begin, pauses := time.Now(), retry.Quick()
	for {
		err := try(ctx)
		if err == nil || !again(err) || time.Since(begin) > wait {
			return err
		}
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return err
		}
	}
}
