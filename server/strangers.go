package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"refrain/internal/retry"
	"refrain/shard"
)

// Two deployments that have one topics.name by mistake would share a window: each would report what the other's posts
// repeat, and its workers would take the other's partitions. Owners say of which deployment they are, by what only its
// processes know, the cluster's token. A process that finds others at work waits, and says whose they are; where both began
// at once, both say so.

// strangers is what is known of owners of another deployment.
type strangers struct {
	mark string // of ours
	name string // topics.name

	mu   sync.Mutex
	last map[int]shard.Owner // by partition
	err  error
}

// strangerError says who uses the topics without being one of us.
type strangerError struct{ name, worker, address string }

func (e *strangerError) Error() string {
	return fmt.Sprintf("worker %s at %s uses the topics %s with another cluster.token: where it is another deployment, give "+
		"this one another topics.name; to change the token, stop all processes before the first one starts with the new one",
		e.worker, e.address, e.name+"-*")
}

// markOf is what the processes of a deployment have in common. It does not tell the token.
func markOf(name, token string) string {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("deployment " + name))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// poll reads who owns the partitions. Of another deployment are those that have told it since the last look: a dead one's
// word stays for ever.
func (x *strangers) poll(ctx context.Context, n *node) error {
	now := map[int]shard.Owner{}
	for q := range n.cfg.Topics.Partitions {
		o, err := shard.ReadOwner(ctx, n.store, q)
		if err != nil {
			return err
		}
		if o != nil && o.Mark != "" && o.Mark != x.mark && !o.Released {
			now[q] = *o
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = nil
	for q, o := range now {
		if before, known := x.last[q]; known && before != o {
			x.err = &strangerError{x.name, o.Worker, o.Address}
		}
	}
	x.last = now
	return nil
}

func (x *strangers) check(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// strangersEvery is more than the time between two words of an owner.
const strangersEvery = 5 * time.Second

// refuseStrangers ends the start while another deployment is at work.
func (n *node) refuseStrangers(ctx context.Context) error {
	token, err := n.cfg.Cluster.Token.Read()
	if err != nil {
		return err
	}
	x := &strangers{mark: markOf(n.cfg.Topics.Name, token), name: n.cfg.Topics.Name}
	n.strangers = x
	if err := x.poll(ctx, n); err != nil || len(x.last) == 0 {
		return err
	}
	if err := retry.Sleep(ctx, strangersEvery); err != nil {
		return err
	}
	return errors.Join(x.poll(ctx, n), x.check(ctx))
}

func (n *node) watchStrangers(ctx context.Context) error {
	return every(ctx, strangersEvery, func(ctx context.Context) {
		_ = n.strangers.poll(ctx, n) // what is wrong with the store others say
	})
}

func isStranger(err error) bool {
	var s *strangerError
	return errors.As(err, &s)
}
