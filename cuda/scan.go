package cuda

import (
	"fmt"

	"refrain/hashcodes/hamming"
)

// Job compares rows From to To of a table, To not included, with queries. Each query appends its hits, which are row
// numbers of the table, to its Hits, in ascending order. Within one Scan a query belongs to one job.
type Job struct {
	Rows     *Rows
	From, To int
	Queries  []hamming.Query
}

// Scan does all jobs, in as few launches as can be: one where the tables have signatures of one width. It appends to
// each query what hamming.Scan would. A failed Scan appends nothing.
func (d *Device) Scan(jobs []Job) error {
	if err := d.scan(jobs, nil); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	return nil
}

// scan scans by kernel k, or by those chosen where it is nil.
func (d *Device) scan(jobs []Job, k *kernel) error {
	_, err := d.timed(jobs, k)
	return err
}

// timed is scan, and says how many seconds the device was busy with it.
func (d *Device) timed(jobs []Job, k *kernel) (seconds float64, err error) {
	d.use.RLock()
	defer d.use.RUnlock()
	chunks, err := d.snapshot(jobs)
	if err != nil {
		return 0, err
	}
	l := <-d.lanes
	defer func() { d.lanes <- l }()
	l.busy = 0
	cuts := checkpointsOf(jobs)
	err = d.within(func() error { return l.scan(jobs, chunks, k) })
	for _, c := range cuts {
		if err != nil {
			c.undo()
		} else {
			c.sort()
		}
	}
	return l.busy, err
}

// snapshot is the chunks of every job's rows. It panics where a job is none, which is the caller's bug.
func (d *Device) snapshot(jobs []Job) ([][]chunk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	all := make([][]chunk, len(jobs))
	for i := range jobs {
		jobs[i].check(d)
		all[i] = jobs[i].Rows.chunks
	}
	return all, nil
}

func (j *Job) check(d *Device) {
	if j.Rows.device != d || j.Rows.freed {
		panic("cuda: rows of another device, or freed")
	}
	if j.From < 0 || j.To < j.From || j.To > j.Rows.length {
		panic(fmt.Sprintf("cuda: rows %d to %d of %d", j.From, j.To, j.Rows.length))
	}
	for i := range j.Queries {
		if len(j.Queries[i].Signature) != j.Rows.words {
			panic("cuda: a query's signature has another number of words than the rows'")
		}
	}
}
