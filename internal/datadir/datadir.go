// Package datadir verifies a data directory that no server uses, and changes nothing in it.
//
// Everything is read once, from the beginning to the end, a block of a topic or a page of the index at a time: topics by
// their own checksums and by ours (topic/jetstream/blocks), the index by its pages and entries (lookup/boltstore), models
// by their files, and the rest line by line. What was never finished because the process was killed is no damage.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"refrain/lookup/boltstore"
	"refrain/models"
	"refrain/topic/jetstream"
	"refrain/topic/jetstream/blocks"
)

// Finding is a location that is not as it was written.
type Finding struct {
	File   string
	Offset int64 // below 0: the file as a whole
	Reason string
}

func (f Finding) String() string {
	if f.Offset < 0 {
		return f.File + ": " + f.Reason
	}
	return fmt.Sprintf("%s: %d: %s", f.File, f.Offset, f.Reason)
}

// Config says what to check, and whom to tell.
type Config struct {
	Dir      string
	Found    func(Finding)
	Part     func(summary string)            // of a part, when it has been checked
	Progress func(done, of int64, at string) // in bytes
}

// ErrNoData says that a folder is no data directory.
var ErrNoData = errors.New("not a data directory")

// Check verifies a directory, and returns how many findings there were. The error says why it could not be checked; an
// *jetstream.InUseError, that a server uses it; a *FormatError, that a newer program has written there.
func Check(ctx context.Context, cfg Config) (findings int, err error) {
	if _, err := os.Stat(blocks.Dir(cfg.Dir)); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return 0, fmt.Errorf("%s: %w: it has no topics (%w)", cfg.Dir, ErrNoData, errors.Unwrap(err))
	} else if err != nil {
		return 0, fmt.Errorf("data directory %s: %w", cfg.Dir, err)
	}
	lock, err := jetstream.Hold(cfg.Dir)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	c := checker{Config: cfg, ctx: ctx}
	if err := c.format(); err != nil {
		return 0, fmt.Errorf("data directory %s: %w", cfg.Dir, err)
	}
	if err := c.measure(); err != nil {
		return 0, err
	}
	err = c.run()
	return c.findings, err
}

type checker struct {
	Config
	ctx         context.Context
	total, done int64
	findings    int
	inPart      int // findings
}

// format checks what format the directory is of. There is no use in reading one that is not known.
func (c *checker) format() error {
	format, err := readFormat(c.Dir)
	if errors.Is(err, errFormatDamaged) {
		c.found(filepath.Join(c.Dir, formatName), 0, "no number")
	} else if err != nil {
		return err
	}
	c.endPart("%s, %d", formatName, max(1, format))
	return nil
}

// measure adds up what there is to read.
func (c *checker) measure() error {
	return filepath.WalkDir(c.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			c.total += info.Size()
		}
		return err
	})
}

func (c *checker) run() error {
	names, err := blocks.Streams(c.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.stream(name); err != nil {
			return err
		}
	}
	if err := c.index(); err != nil {
		return err
	}
	c.models()
	return c.logs()
}

// maxFindings is how many findings of a part are told one by one.
const maxFindings = 100

func (c *checker) found(file string, offset int64, format string, args ...any) {
	c.findings++
	if c.inPart++; c.inPart <= maxFindings {
		c.Found(Finding{file, offset, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) endPart(format string, args ...any) {
	verdict := "sound"
	if c.inPart > 0 {
		verdict = fmt.Sprintf("DAMAGED, %d findings", c.inPart)
	}
	if c.inPart > maxFindings {
		verdict += fmt.Sprintf(", of which the first %d are listed", maxFindings)
	}
	c.Part(fmt.Sprintf(format, args...) + ": " + verdict)
	c.inPart = 0
}

func (c *checker) progress(bytes int64, at string) error {
	c.done += bytes
	c.Progress(min(c.done, c.total), c.total, at)
	return c.ctx.Err()
}

// index checks the embedded index, where there is one.
func (c *checker) index() error {
	path, last := filepath.Join(c.Dir, "lookup.db"), int64(0)
	checked, err := boltstore.Check(path, func(f boltstore.Finding) { c.found(path, f.Offset, "%s", f.Reason) },
		func(read int64) bool {
			err := c.progress(read-last, "lookup.db")
			last = read
			return err == nil
		})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := errors.Join(err, c.progress(max(0, checked.Bytes-last), "lookup.db")); err != nil {
		return err
	}
	c.endPart("lookup.db, %d entries", checked.Entries)
	return nil
}

func (c *checker) models() {
	n := models.Check(filepath.Join(c.Dir, "models"), func(file string, err error) { c.found(file, -1, "%v", err) })
	c.endPart("models, %d learned", n)
}
