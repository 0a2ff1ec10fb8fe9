package blocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Repair writes a record that holds nothing over each damaged one, as the server does with a message that it erases: so
// what follows in the block stays, and a sequence is not given twice. What it writes over goes to the folder copies first.
// It leaves alone what the server was writing when it was killed, and what it does not know the end of: the server cuts
// that off.
//
// A process that is killed in the midst of it leaves damage that was there, which the next one repairs: copies reach the
// disk before the index is removed, and it is gone before a block is changed. The server makes it again from the blocks;
// with the one from before it would take what is gone for there, and count it only when it is read.
func (s *Stream) Repair(copies string) error {
	damage := slices.DeleteFunc(slices.Clone(s.Damage), func(d Damage) bool { return d.until == 0 })
	if len(damage) == 0 {
		return nil
	}
	for _, step := range []func() error{
		func() error { return s.copyAll(damage, copies) },
		s.removeIndex,
		func() error { return s.blankAll(damage) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("repair stream %s: %w", s.Name, err)
		}
	}
	return nil
}

// maxCopies is how many damaged records are kept.
const maxCopies = 100

func (s *Stream) copyAll(damage []Damage, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	now := time.Now().UTC().Format("20060102T150405.000")
	for _, d := range damage[:min(len(damage), maxCopies)] {
		name := fmt.Sprintf("%s.%s.%s.%d", now, s.Name, filepath.Base(d.File), d.Offset)
		if err := copyPart(d, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return errors.Join(removeOld(folder), syncDir(folder), syncDir(filepath.Dir(folder)))
}

// removeOld removes what is too much, the oldest first: names begin with the time.
func removeOld(folder string) error {
	copies, err := os.ReadDir(folder)
	for _, e := range copies[:max(0, len(copies)-maxCopies)] {
		err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
	}
	return err
}

func copyPart(d Damage, to string) error {
	in, err := os.Open(d.File)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(in, d.Offset, d.until-d.Offset))
	return errors.Join(err, out.Sync(), out.Close())
}

func (s *Stream) removeIndex() error {
	if err := os.Remove(s.index()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(s.messages())
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s *Stream) blankAll(damage []Damage) error {
	for _, d := range damage {
		if err := s.blank(d); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) blank(d Damage) error {
	var block int
	if _, err := fmt.Sscanf(filepath.Base(d.File), "%d.blk", &block); err != nil {
		return err
	}
	f, err := os.OpenFile(d.File, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(s.erasedRecord(block, int(d.until-d.Offset), d.last), d.Offset)
	return errors.Join(err, f.Sync(), f.Close())
}

// erasedRecord holds nothing. Without a sequence the server takes it for one that was compacted away.
func (s *Stream) erasedRecord(block, length int, seq uint64) []byte {
	b := make([]byte, length)
	binary.LittleEndian.PutUint32(b, uint32(length))
	binary.LittleEndian.PutUint64(b[4:], seq|erased)
	p := newParser(s.Name, block, nil)
	p.hash.Write(b[4:20])
	p.hash.Write(b[recordHead : length-checksumSize])
	copy(b[length-checksumSize:], p.hash.Sum(nil))
	return b
}
