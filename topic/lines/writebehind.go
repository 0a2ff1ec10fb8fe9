package lines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"refrain/internal/retry"
)

// WriteBehind writes lines a little later, many at once: who writes does not wait for a broker, as long as there is room. It is
// for a log that says what happened, and not for what must be durable before something else.
type WriteBehind struct {
	to     io.WriteCloser
	name   string
	logger *slog.Logger

	mu      sync.Mutex
	room    *sync.Cond // there is some, or there will be none
	pending []byte     // whole lines
	closed  bool

	wake   chan struct{} // for one: there is something to write, or it is closed
	ctx    context.Context
	giveUp context.CancelFunc
	done   chan struct{}
	lost   error
}

const (
	// maxPending bounds the lines that wait: beyond it who writes waits.
	maxPending = 1 << 20
	// closeTimeout is how long Close tries to write what is left.
	closeTimeout = 5 * time.Second
)

// NewWriteBehind writes to a writer, which must take any number of lines at once, and closes it at the end, perhaps
// while it is being written to. Close must be called.
func NewWriteBehind(name string, to io.WriteCloser, logger *slog.Logger) *WriteBehind {
	b := &WriteBehind{to: to, name: name, logger: logger, wake: make(chan struct{}, 1), done: make(chan struct{})}
	b.room = sync.NewCond(&b.mu)
	b.ctx, b.giveUp = context.WithCancel(context.Background())
	go b.run()
	return b
}

// Write implements io.Writer: p is whole lines. It waits while too many of them wait.
func (b *WriteBehind) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && len(b.pending) > 0 && len(b.pending)+len(p) > maxPending {
		b.room.Wait()
	}
	if b.closed {
		return 0, fmt.Errorf("write %s: %w", b.name, io.ErrClosedPipe)
	}
	b.pending = append(b.pending, p...)
	b.signal()
	return len(p), nil
}

func (b *WriteBehind) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *WriteBehind) run() {
	defer close(b.done)
	for range b.wake {
		some, last := b.drain()
		if len(some) > 0 {
			b.flush(some)
		}
		if last {
			return
		}
	}
}

// drain takes all that waits. last says that nothing more will come.
func (b *WriteBehind) drain() (some []byte, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	some, b.pending = b.pending, nil
	b.room.Broadcast()
	return some, b.closed
}

// flush tries until the lines are written, or given up.
func (b *WriteBehind) flush(some []byte) {
	for pauses := retry.Steady(); ; {
		_, err := b.to.Write(some)
		if err == nil {
			return
		}
		if b.ctx.Err() == nil {
			b.logger.Warn("retrying write of a log", "log", b.name, "error", err)
		}
		if retry.Sleep(b.ctx, pauses.NextBackOff()) != nil {
			b.lost = errors.Join(b.lost, fmt.Errorf("%d bytes of %s are not written: %w", len(some), b.name, err))
			return
		}
	}
}

// Close writes what is left, as far as that can be done in time, and closes the writer.
func (b *WriteBehind) Close() error {
	b.mu.Lock()
	b.closed = true
	b.room.Broadcast()
	b.signal()
	b.mu.Unlock()
	closeTo := sync.OnceValue(b.to.Close)
	late := time.AfterFunc(closeTimeout, func() {
		b.giveUp()
		_ = closeTo() // it ends a Write that waits; its error comes again below
	})
	<-b.done
	late.Stop()
	b.giveUp()
	return errors.Join(b.lost, closeTo())
}
