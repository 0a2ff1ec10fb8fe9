package backfill

import (
	"errors"
	"fmt"

	"refrain/feed"
)

// Manifest says what a folder holds, and of what.
type Manifest struct {
	Version  int      `json:"version"` // of this form
	Complete bool     `json:"complete"`
	Settings Settings `json:"settings"`
	Input    []File   `json:"input"`

	Posts    int64 `json:"posts"`             // accepted
	Untimed  int64 `json:"untimed"`           // of these, without a time of their own: they have that of the post before them
	Rejected int64 `json:"rejected"`          // records that are no posts
	Skipped  int64 `json:"skipped,omitempty"` // records that are no posts as the preset has it, and no mistakes
	Changed  int64 `json:"changed"`           // posts accepted with a change
	Counts         // of finished slices

	Unfinished  []feed.Time `json:"unfinished,omitempty"` // slices with posts, by their beginnings
	Slices      []Slice     `json:"slices"`
	DeadLetters *Output     `json:"deadLetters,omitempty"`
}

const manifestVersion = 1

// outputs are the files that it names.
func (m *Manifest) outputs() (all []Output) {
	for i := range m.Slices {
		all = append(all, m.Slices[i].Files...)
	}
	if m.DeadLetters != nil {
		all = append(all, *m.DeadLetters)
	}
	return all
}

// reports are those of all slices. They name no files of ids.
func (m *Manifest) reports() (all []*report) {
	for i := range m.Slices {
		all = append(all, &report{Slice: m.Slices[i]})
	}
	return all
}

// finish writes the manifest, and when everything is there removes what is not needed any more. One process at a time does, and
// one that comes after that finds the manifest complete, and no reports.
func (b *backfill) finish() (m Manifest, err error) {
	unlock, err := b.dir.lockFolder()
	if err != nil {
		return m, err
	}
	defer unlock()
	if read(b.dir.manifest(), &m) == nil && m.Complete {
		return m, b.dir.clean()
	}
	finished, err := b.dir.reports()
	if err != nil {
		return m, err
	}
	m = b.manifest(finished)
	if m.Complete && !b.cfg.NoEvents {
		if err := b.removeDuplicates(finished); err != nil {
			return m, fmt.Errorf("remove duplicates: %w", err)
		}
		m = b.manifest(finished)
	}
	if err := write(b.dir.manifest(), &m); err != nil {
		return m, err
	}
	if !m.Complete {
		return m, b.lost(&m)
	}
	return m, b.dir.clean()
}

// errLost: somebody else changes the folder. The next run does what is missing.
var errLost = errors.New("not finished, though it was worked on: its files are not those that were written")

// lost is an error where slices that this part has worked on are not finished.
func (b *backfill) lost(m *Manifest) error {
	for _, start := range m.Unfinished {
		if b.cfg.isOurs(b.cfg.sliceOf(start)) {
			return b.at(b.cfg.sliceOf(start), errLost)
		}
	}
	return nil
}

// manifest is of the slices that are finished.
func (b *backfill) manifest(finished map[feed.Time]*report) Manifest {
	in := b.input
	m := Manifest{
		Version: manifestVersion, Settings: b.settings, Input: in.Files, Posts: in.Posts, Untimed: in.Untimed,
		Rejected: in.Rejected, Skipped: in.Skipped, Changed: in.Changed, Slices: []Slice{},
	}
	for _, number := range in.numbers() {
		start := b.cfg.start(number)
		if r := finished[start]; r != nil {
			m.Slices = append(m.Slices, r.Slice)
			m.add(&r.Counts)
		} else {
			m.Unfinished = append(m.Unfinished, start)
		}
	}
	m.DeadLetters = b.dir.letters()
	m.Complete = len(m.Unfinished) == 0 && (in.Rejected == 0 || m.DeadLetters != nil)
	return m
}
