package backfill

import (
	"fmt"
	"path/filepath"
	"syscall"

	"refrain/feed"
)

// Manifest says what a folder holds, and of what.
type Manifest struct {
	Version  int      `json:"version"` // of this form
	Complete bool     `json:"complete"`
	Settings Settings `json:"settings"`
	Input    []File   `json:"input"`

	Posts       int64 `json:"posts"`       // accepted
	Untimed     int64 `json:"untimed"`     // of these, without a time of their own: they have that of the post before them
	Rejected    int64 `json:"rejected"`    // records that are no posts
	Changed     int64 `json:"changed"`     // posts accepted with a change
	Redelivered int64 `json:"redelivered"` // posts that came more than once; of finished slices, as all below
	Sentences   int64 `json:"sentences"`
	TooShort    int64 `json:"tooShort"`
	Events      int64 `json:"events"`
	Kept        int64 `json:"kept,omitempty"`
	Truncated   int64 `json:"truncated"`
	Forced      int64 `json:"forced"`

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

// finish writes the manifest, and when everything is there removes what is not needed any more. One process at a time does, and
// one that comes after that finds the manifest complete, and no reports.
func (b *backfill) finish() (m Manifest, err error) {
	lock, err := lockFile(filepath.Join(b.dir.work(), "lock"), syscall.LOCK_EX)
	if err == nil {
		defer func() { _ = lock.Close() }()
	}
	if read(b.dir.manifest(), &m) == nil && m.Complete {
		return m, b.dir.clean()
	}
	if err != nil {
		return m, err
	}
	m = b.manifest()
	if m.Complete {
		left, err := b.tellOnce(b.dir.reports())
		if err != nil {
			return m, fmt.Errorf("leave out what is there twice: %w", err)
		}
		if left {
			m = b.manifest()
		}
	}
	if err := write(b.dir.manifest(), &m); err != nil || !m.Complete {
		return m, err
	}
	return m, b.dir.clean()
}

// manifest is of what is there now.
func (b *backfill) manifest() Manifest {
	in := b.input
	m := Manifest{
		Version: manifestVersion, Settings: b.settings, Input: in.Files, Posts: in.Posts, Untimed: in.Untimed,
		Rejected: in.Rejected, Changed: in.Changed, Slices: []Slice{},
	}
	finished := b.dir.reports()
	for _, number := range in.numbers() {
		start := b.cfg.start(number)
		if r := finished[start]; r != nil {
			m.add(&r.Slice)
		} else {
			m.Unfinished = append(m.Unfinished, start)
		}
	}
	for _, in := range b.dir.inputs() {
		if in.Letters != nil {
			m.DeadLetters = in.Letters
		}
	}
	m.Complete = len(m.Unfinished) == 0 && (in.Rejected == 0 || m.DeadLetters != nil)
	return m
}

func (m *Manifest) add(s *Slice) {
	m.Slices = append(m.Slices, *s)
	m.Redelivered += s.Redelivered
	m.Sentences += s.Sentences
	m.TooShort += s.TooShort
	m.Events += s.Events
	m.Kept += s.Kept
	m.Truncated += s.Truncated
	m.Forced += s.Forced
}
