package jetstream

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// forgetful is a client that has forgotten to ask for more: a call that has begun waits in vain, and the next one asks.
type forgetful struct {
	js.MessagesContext
	forgets int // calls
	calls   int
	err     error // of the others
}

func (f *forgetful) Next(opts ...js.NextOpt) (js.Msg, error) {
	f.calls++
	if f.calls <= f.forgets {
		return nil, nats.ErrTimeout // as it says when a wait with an end is over
	}
	if f.err != nil {
		return nil, f.err
	}
	return nil, nil
}

func TestAClientThatForgetsIsCalledAgain(t *testing.T) {
	for _, forgets := range []int{0, 1, len(naps)} {
		f := &forgetful{forgets: forgets}
		if _, err := nextMessage(t.Context(), f); err != nil || f.calls != forgets+1 {
			t.Errorf("%d calls in vain: %d calls, %v", forgets, f.calls, err)
		}
	}
}

func TestNapsEndWithTheReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &forgetful{forgets: 100}
	if _, err := nextMessage(ctx, f); !errors.Is(err, context.Canceled) || f.calls != 1 {
		t.Errorf("%d calls, %v", f.calls, err)
	}
}

func TestWhatIsWrongIsNoNap(t *testing.T) {
	f := &forgetful{err: js.ErrMsgIteratorClosed}
	if _, err := nextMessage(t.Context(), f); !errors.Is(err, js.ErrMsgIteratorClosed) || f.calls != 1 {
		t.Errorf("%d calls, %v", f.calls, err)
	}
}
