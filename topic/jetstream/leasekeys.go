package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
)

// timeout bounds a request: one that is not answered may not keep the next sign of life.
func (l *Leases) timeout() time.Duration { return max(l.cfg.Renew, time.Second) }

// renew gives a sign of life. Where somebody has found us dead it is the first of a new life.
func (l *Leases) renew(ctx context.Context) error {
	if err := l.put(ctx, l.view.processKey(l.view.process)); err != nil {
		return err
	}
	l.renewed, l.told = l.cfg.Now(), ""
	return nil
}

// put writes a key over what we know of it. That somebody was faster is no error: the watch will say what there is.
func (l *Leases) put(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout())
	defer cancel()
	data := l.view.value()
	revision, err := l.kv.Update(ctx, key, data, l.view.revision(key))
	if e := l.view.entries[key]; errors.Is(err, js.ErrKeyRevisionMismatch) && (e == nil || e.deleted) {
		revision, err = l.create(ctx, key, data)
	}
	if errors.Is(err, js.ErrKeyRevisionMismatch) || errors.Is(err, js.ErrKeyExists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return l.note(key, data, revision)
}

// create is for a key whose marker of deletion is not what we have seen, or is gone.
func (l *Leases) create(ctx context.Context, key string, data []byte) (uint64, error) {
	return l.kv.Create(ctx, key, data)
}

func (l *Leases) note(key string, data []byte, revision uint64) error {
	var value leaseValue
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	l.view.set(key, value, revision, false)
	return nil
}

// remove deletes a key that is still what we know of it. The marker stays until the next one; the view learns of it from the
// watch, and until then of the deletion alone.
func (l *Leases) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout())
	defer cancel()
	err := l.kv.Purge(ctx, key, js.LastRevision(l.view.revision(key)))
	if errors.Is(err, js.ErrKeyRevisionMismatch) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	l.view.entries[key].deleted = true
	return nil
}

// rewatch starts a watch where there is none, or where our own signs of life do not come through it.
func (l *Leases) rewatch(ctx context.Context) (err error) {
	if l.watcher != nil && (l.view.seen.IsZero() || l.renewed.Sub(l.view.seen) < l.cfg.TTL) {
		return nil
	}
	l.unwatch()
	l.watcher, err = l.kv.Watch(ctx, l.cfg.Group+".>")
	if err != nil {
		l.watcher = nil
		return fmt.Errorf("watch: %w", err)
	}
	return l.known(ctx)
}

// known waits for what there is already.
func (l *Leases) known(ctx context.Context) error {
	late := time.After(l.timeout())
	for {
		select {
		case e, ok := <-l.watcher.Updates():
			if e == nil || !ok {
				return nil
			}
			if err := l.view.observe(e, l.cfg.Now()); err != nil {
				return err
			}
		case <-late:
			return errors.New("watch: no answer")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unwatch ends the watch and takes what it still wants to hand over: it would wait for that.
func (l *Leases) unwatch() {
	if l.watcher == nil {
		return
	}
	w := l.watcher
	l.watcher = nil
	if err := w.Stop(); err != nil {
		return // the connection is closed, and the watch with it
	}
	late := time.After(l.timeout())
	for {
		select {
		case _, ok := <-w.Updates():
			if !ok {
				return
			}
		case <-late:
			return
		}
	}
}

// leave removes our own keys, the sign of life first: with it all leases end.
func (l *Leases) leave() {
	if l.kill {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout())
	defer cancel()
	keys := []string{l.view.processKey(l.view.process)}
	for _, p := range l.view.held() {
		keys = append(keys, l.view.partKey(p))
	}
	for _, key := range keys {
		if err := l.remove(ctx, key); err != nil {
			l.cfg.Logger.Warn("leases are not given up: others have the parts when they end", "component", "nats", "group", l.cfg.Group,
				"error", err)
			return
		}
	}
}
