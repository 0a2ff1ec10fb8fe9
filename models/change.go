package models

import (
	"context"
	"fmt"
	"maps"
	"time"

	"refrain/hashcodes"
	"refrain/internal/retry"
)

// use has the windows take a model on.
func (k *Keeper) use(ctx context.Context, id int, m *hashcodes.Model) {
	k.mu.Lock()
	k.model, k.loaded[id] = m, m
	k.mu.Unlock()
	began := k.cfg.Now()
	done, refused := k.change(ctx, m)
	if ctx.Err() != nil {
		return
	}
	k.metrics.changed(ctx, done, refused, k.cfg.Now().Sub(began))
	if refused > 0 {
		how := fmt.Sprintf("model %d, %s, is to be used, but %d of %d windows have no room to change their codes within "+
			"window.budget: they will have it after a restart",
			id, m.Name(), refused, len(k.cfg.Windows))
		k.cfg.Logger.Warn("models: " + how)
		k.setStatus(nothing, "%s", how)
		return
	}
	k.unloadExcept(id)
	k.resetDrift()
	k.finish(fmt.Sprintf("model %d, %s, is in use", id, m.Name()))
}

// unloadExcept drops the models that no window has any more, once all have that of id.
func (k *Keeper) unloadExcept(current int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.loaded, func(id int, _ *hashcodes.Model) bool { return id != current })
}

// change has the windows that have another model take m on, one after the other, and counts those that did, and those that
// have no room for it.
func (k *Keeper) change(ctx context.Context, m *hashcodes.Model) (done, refused int) {
	for i, w := range k.cfg.Windows {
		if w.Model() == m {
			continue
		}
		k.changed(i - refused)
		k.setStatus(changing, "window %d of %d takes %s on", i+1, len(k.cfg.Windows), m.Name())
		w.Recode(m)
		for more := true; more && ctx.Err() == nil; {
			more = recodeSome(ctx, w)
		}
		if w.Model() == m {
			done++
		} else {
			refused++
		}
	}
	k.changed(len(k.cfg.Windows) - refused)
	return done, refused
}

// changed notes how many windows have the current model.
func (k *Keeper) changed(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.Changed = n
}

// recodeSome goes on with a change for a moment, and then leaves the window to the posts for as long.
func recodeSome(ctx context.Context, w Window) (more bool) {
	const textsPerTurn = 512
	began := time.Now()
	more = w.RecodeSome(textsPerTurn)
	_ = retry.Sleep(ctx, time.Since(began)) // change sees that ctx has ended
	return more
}
