package shard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// mayBegin reports whether nobody else needs to be waited for: the last owner has given the partition up, or this process was
// the last one itself, or the time is over in which it may come back. Who does not wait does no harm, but work twice.
func (c *Crew) mayBegin(ctx context.Context, h *holding) (bool, error) {
	if c.cfg.OwnerEvery == 0 {
		return true, nil
	}
	owner, err := ReadOwner(ctx, c.cfg.Worker.Store, h.id)
	if err != nil || owner == nil || owner.Released {
		return err == nil, err
	}
	if owner.Worker == c.cfg.Name && !h.superseded {
		return true, nil
	}
	left := c.cfg.Grace - c.now().Sub(c.waitsSince(h, owner))
	c.wait(h, fmt.Sprintf("waits up to %.0f s more for worker %s, which had it (cluster.handover_grace)", max(0, left).Seconds(), owner.Worker))
	return left <= 0, nil
}

// waitsSince is since when the grace runs: since the partition was assigned, or, where somebody took it over all the same,
// since he has said nothing any more.
func (c *Crew) waitsSince(h *holding, owner *Owner) time.Time {
	if !h.superseded {
		return h.since
	}
	if h.owner != *owner {
		h.owner, h.quiet = *owner, c.now()
	}
	return h.quiet
}

// tell tells the others now and then what is owned here, and hears whether they have taken something over.
func (c *Crew) tell(ctx context.Context) error {
	now := c.now()
	if c.cfg.OwnerEvery == 0 || now.Sub(c.lastTold()) < c.cfg.OwnerEvery {
		return nil
	}
	var errs []error
	for _, h := range c.holdings(func(h *holding) bool { return h.partition != nil }) {
		if err := c.tellOf(ctx, h); err != nil {
			errs = append(errs, fmt.Errorf("tell who owns partition %d: %w", h.id, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		c.log.Warn("retrying to tell the others which partitions are owned here", "error", err)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = now
	return nil
}

// tellNow has the next tell not wait for its time: what nobody is told of, nobody asks for.
func (c *Crew) tellNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = time.Time{}
}

func (c *Crew) lastTold() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told
}

func (c *Crew) tellOf(ctx context.Context, h *holding) error {
	superseded, err := h.partition.isSuperseded(ctx, c.cfg.Worker.Store)
	if err != nil {
		return err
	}
	if !superseded {
		return c.putOwner(ctx, h, false)
	}
	c.log.Warn("another process has taken a partition over: this one stops with it", "partition", h.id, "epoch", h.epoch)
	c.workerOf(h).abandon(h.partition)
	c.drop(h)
	c.mu.Lock()
	defer c.mu.Unlock()
	h.epoch, h.superseded, h.owner = 0, true, Owner{}
	return nil
}

// putReleased says that the partition is given up, unless somebody else has it by now: two that take over at once have the same
// epoch, and what the one gives up the other may keep.
func (c *Crew) putReleased(ctx context.Context, h *holding) error {
	if c.cfg.OwnerEvery == 0 {
		return nil
	}
	owner, err := ReadOwner(ctx, c.cfg.Worker.Store, h.id)
	if err != nil || owner != nil && owner.Worker != c.cfg.Name && owner.Epoch >= h.epoch {
		return err
	}
	return c.putOwner(ctx, h, true)
}

func (c *Crew) putOwner(ctx context.Context, h *holding, released bool) error {
	if c.cfg.OwnerEvery == 0 {
		return nil
	}
	return putOwner(ctx, c.cfg.Worker.Store, h.id, &Owner{
		Worker: c.cfg.Name, Address: c.cfg.Address, Epoch: h.epoch, Released: released, Time: c.now().UTC(),
		Mark: c.cfg.Mark,
	})
}
