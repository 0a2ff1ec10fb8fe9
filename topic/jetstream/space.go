package jetstream

import (
	"fmt"
	"syscall"

	"refrain/topic"
)

// checkFree reports a disk with less than min bytes left for this user.
func checkFree(dir string, min int64) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	if free >= min {
		return nil
	}
	return fmt.Errorf("%w: disk full: %d MiB left for data directory %s, of which %d MiB are kept free",
		topic.ErrFull, free>>20, dir, min>>20)
}
