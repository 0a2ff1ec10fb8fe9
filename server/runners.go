package server

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"refrain/internal/retry"
	"refrain/topic"
)

// runner is something that only one process may run at a time, of all that share the topics: a sink, the index, a source that
// is a file. It must bear to be run twice for a moment: a process that stands still goes on until it hears that it has lost it.
type runner struct {
	role, name string
	run        func(context.Context) error // until ctx ends, and perhaps again later
}

// runnerParts is what the runners of a role are dealt out by: each has the part that its name hashes to. More than runners, so
// that few share one.
const runnerParts = 32

func (r *runner) part() int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.name)) // it cannot fail
	return int(h.Sum32() % runnerParts)
}

// addRunner adds one.
func (s *Server) addRunner(role, name string, run func(context.Context) error) {
	s.runners = append(s.runners, runner{role, name, run})
}

// runnersOf are those of a role.
func (s *Server) runnersOf(role string) (of []runner) {
	for _, r := range s.runners {
		if r.role == role {
			of = append(of, r)
		}
	}
	return of
}

// runnerParts run the runners of a role, or nothing: all of them where nobody shares the topics, else those that are dealt to
// this process.
func (s *Server) runnerParts() (parts []func(context.Context) error) {
	for _, role := range Roles {
		all := s.runnersOf(role)
		switch {
		case len(all) == 0:
		case s.cfg.onBroker():
			d := &dealt{s: s, role: role, all: all, running: map[string]*running{}}
			parts = append(parts, d.serve)
		default:
			for _, r := range all {
				parts = append(parts, r.run)
			}
		}
	}
	return parts
}

// dealt runs those of a role's runners that are dealt to this process.
type dealt struct {
	s    *Server
	role string
	all  []runner

	fail    context.CancelCauseFunc
	running map[string]*running
}

// running is one that runs here.
type running struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

// serve starts what is gained and stops what is lost, until ctx ends or a runner fails.
func (d *dealt) serve(outer context.Context) error {
	ctx, fail := context.WithCancelCause(outer)
	defer fail(nil)
	d.fail = fail
	group, err := d.s.node.joinRetrying(ctx, "runners-"+d.role, runnerParts)
	if err != nil {
		return nil // ctx has ended
	}
	defer func() { _ = group.Close() }() // others wait until it counts as dead, then
	defer d.stopAll()
	for {
		parts, err := group.Next(ctx)
		switch {
		case err == nil:
			d.assign(ctx, parts)
		case outer.Err() != nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return err
		}
	}
}

// assign runs the runners of these parts, and no others.
func (d *dealt) assign(ctx context.Context, parts []int) {
	for i := range d.all {
		r := &d.all[i]
		at, runs := d.running[r.name], slices.Contains(parts, r.part())
		switch {
		case runs && at == nil:
			d.start(ctx, r)
		case !runs && at != nil:
			d.stop(r.name)
			d.s.log.Info("another process runs", "role", d.role, "name", r.name)
		}
	}
}

func (d *dealt) start(ctx context.Context, r *runner) {
	d.s.log.Info("this process runs", "role", d.role, "name", r.name)
	ctx, stop := context.WithCancel(ctx)
	at := &running{stop: stop}
	d.running[r.name] = at
	at.done.Go(func() {
		if err := r.run(ctx); err != nil && ctx.Err() == nil {
			d.fail(fmt.Errorf("%s: %w", r.name, err))
		}
	})
}

func (d *dealt) stop(name string) {
	at := d.running[name]
	at.stop()
	at.done.Wait()
	delete(d.running, name)
}

func (d *dealt) stopAll() {
	for name := range d.running {
		d.stop(name)
	}
}

// joinRetrying joins a group as soon as the broker lets us in; its error is ctx's.
func (n *node) joinRetrying(ctx context.Context, group string, parts int) (topic.Membership, error) {
	pauses := retry.Steady()
	for {
		m, err := n.broker.join(ctx, group, parts)
		n.memberships.set(group, m, err)
		if err == nil {
			return m, nil
		}
		if ctx.Err() == nil {
			n.log.Warn("retrying to join a group", "group", group, "error", err)
		}
		if err := retry.Sleep(ctx, pauses.NextBackOff()); err != nil {
			return nil, err
		}
	}
}
