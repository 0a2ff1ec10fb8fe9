package boltstore

import "os"

// Checked is what Check has looked at.
type Checked struct {
	Bytes   int64
	Entries int
}

// Check reads a file that nobody writes, and reports what is damaged in it: pages, the order of keys, entries. It changes
// nothing. After each entry progress is told how many bytes of entries have been read; when it is false Check ends. nil:
// nobody wants to know.
func Check(path string, report func(Finding), progress func(bytes int64) bool) (Checked, error) {
	raw, err := os.Open(path)
	if err != nil {
		return Checked{}, err
	}
	defer raw.Close()
	info, err := raw.Stat()
	if err != nil || info.Size() == 0 {
		return Checked{}, err // nothing was ever stored
	}
	c := Checked{Bytes: info.Size()}
	var read int64
	w := walker{file: raw, size: info.Size(), bothMetas: true, found: func(x Finding) bool { report(x); return true }}
	w.entry = func(e entry) {
		c.Entries++
		if read += int64(len(e.key) + len(e.value)); progress != nil && !progress(read) {
			w.over = true
		}
	}
	w.walk()
	return c, nil
}

// check reports an entry that is not as it was written. Those of the earlier format, whose first bucket tells, have no
// sums: they are made again when the file is next opened.
func (w *walker) check(e entry) {
	w.unsummed = w.unsummed || string(e.bucket) == unsummedBucket
	if _, slice := sliceOf(e.bucket); w.unsummed || slice || string(e.bucket) == string(cursorBucket) {
		if _, err := unseal(e.bucket, e.key, e.value); err != nil && !w.unsummed {
			w.report(e.offset, "entry %x of bucket %x: checksum mismatch", e.key, e.bucket)
		}
		return
	}
	w.report(e.offset, "bucket %x is none of an index", e.bucket)
}
