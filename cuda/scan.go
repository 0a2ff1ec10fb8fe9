package cuda

import "fmt"

// Scan does all jobs of a batch in one launch; see Wait.
func (d *Device) Scan(b *Batch, visit func(Hit)) error { return d.scan(b, nil, visit) }

// scan scans by kernel k, and takes its time; or by the one chosen where k is nil.
func (d *Device) scan(b *Batch, k *kernel, visit func(Hit)) error {
	if err := d.begin(b, k); err != nil {
		return err
	}
	return b.Wait(visit)
}

// Start has the device begin with a batch, which is not to be touched until Wait has returned. At most Config.Scans run at
// a time, and Start waits for one to end: who has started one waits for it before starting another.
func (d *Device) Start(b *Batch) error { return d.begin(b, nil) }

func (d *Device) begin(b *Batch, k *kernel) error {
	d.use.RLock()
	defer func() {
		if b.lane == nil {
			d.use.RUnlock()
		}
	}()
	if err := d.divide(b); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	if len(b.parts) == 0 {
		return nil
	}
	timed := k != nil
	if !timed {
		k = d.kernelFor(b.words)
	}
	b.lane = <-d.lanes
	b.lane.batch, b.lane.kernel, b.lane.timed, b.lane.busy = b, k, timed, 0
	d.last.Store(k)
	if err := b.lane.begin(b.parts); err != nil {
		b.end()
		return fmt.Errorf("scan: %w", err)
	}
	return nil
}

// divide cuts the jobs into parts, as they lie in the device's memory. Rows that are appended later do not matter.
func (d *Device) divide(b *Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b.parts = b.parts[:0]
	if d.closed {
		return errClosed
	}
	for i := range b.jobs {
		b.check(&b.jobs[i], d)
		b.divide(i)
	}
	return nil
}

// Wait waits for the device and calls visit for every hit; those of one query come by job and row, ascending. After an
// error some may have been visited. On a batch that was not started it does nothing.
func (b *Batch) Wait(visit func(Hit)) error {
	if b.lane == nil {
		return nil
	}
	d := b.lane.device
	err := b.lane.finish(b.parts, visit)
	b.end()
	d.use.RUnlock()
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	return nil
}

// end gives the lane back.
func (b *Batch) end() {
	l := b.lane
	b.seconds, b.lane, l.batch = l.busy, nil, nil
	l.device.lanes <- l
}
