package blocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Repair writes a record that holds nothing over each damaged record that is followed by a whole one, as the server does
// with a message that it erases: so the rest of the block stays. The block as it was goes to the folder copies first. Where
// blocks were damaged the index is removed: the server makes it again, and cuts off what is still damaged.
//
// Scan again to know what the stream holds then. A crash in the midst of it leaves a record damaged that was.
func (s *Stream) Repair(copies string) error {
	files, harmed := map[string][]Damage{}, false
	for _, d := range s.Damage {
		harmed = harmed || filepath.Ext(d.File) == ".blk"
		if d.Until-d.Offset >= recordHead+checksumSize {
			files[d.File] = append(files[d.File], d)
		}
	}
	var errs []error
	for path, damage := range files {
		errs = append(errs, s.blank(path, damage, copies))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("repair stream %s: %w", s.Name, err)
	}
	if !harmed {
		return nil
	}
	if err := os.Remove(filepath.Join(s.messages(), "index.db")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("repair stream %s: %w", s.Name, err)
	}
	return nil
}

func (s *Stream) blank(path string, damage []Damage, copies string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := keep(copies, s.Name+"."+filepath.Base(path), b); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	var number int
	_, _ = fmt.Sscanf(filepath.Base(path), "%d.blk", &number) // Scan has done so
	for _, d := range damage {
		_, errWrite := f.WriteAt(s.nothing(number, int(d.Until-d.Offset)), d.Offset)
		err = errors.Join(err, errWrite)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// nothing is an erased record of a length, of no sequence: the server takes it for one that was compacted away.
func (s *Stream) nothing(block, length int) []byte {
	b := make([]byte, length)
	binary.LittleEndian.PutUint32(b, uint32(length))
	binary.LittleEndian.PutUint64(b[4:], erased)
	p := newParser(s.Name, block, nil)
	p.hash.Reset()
	p.hash.Write(b[4:20])
	p.hash.Write(b[recordHead : length-checksumSize])
	copy(b[length-checksumSize:], p.hash.Sum(nil))
	return b
}

// maxCopies is how many damaged blocks are kept.
const maxCopies = 4

func keep(folder, name string, b []byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	name = time.Now().UTC().Format("20060102T150405.000") + "." + name
	if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
		return err
	}
	old, _ := filepath.Glob(filepath.Join(folder, "*.blk"))
	slices.Sort(old)
	for _, path := range old[:max(0, len(old)-maxCopies)] {
		_ = os.Remove(path) // one that stays does no harm
	}
	return nil
}
