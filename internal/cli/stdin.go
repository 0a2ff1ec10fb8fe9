package cli

import (
	"context"
	"errors"
	"io"
	"sync"
)

// ErrStopped means that what a command reads had not ended when it was told to end.
var ErrStopped = errors.New("interrupted before the end of the input")

// stoppable reads from r until the context ends. A read of a pipe on which nothing comes cannot be interrupted, only be
// left behind.
type stoppable struct{ open func() io.Reader }

func newStoppable(ctx context.Context, r io.Reader) stoppable {
	return stoppable{sync.OnceValue(func() io.Reader {
		in, out := io.Pipe()
		context.AfterFunc(ctx, func() { out.CloseWithError(ErrStopped) })
		go func() {
			_, err := io.Copy(out, r)
			out.CloseWithError(err)
		}()
		return in
	})}
}

func (s stoppable) Read(p []byte) (int, error) {
	return s.open().Read(p)
}
