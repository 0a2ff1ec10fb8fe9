package jetstream

import (
	"fmt"
	"syscall"

	"refrain/topic"
)

// checkFree reports a disk with less than min bytes left for this user.
func checkFree(dir string, min int64) error {
	free, err := Free(dir)
	if err != nil || free >= min {
		return err
	}
	return fmt.Errorf("%w: disk full: %d MiB left for data directory %s, of which %d MiB are kept free",
		topic.ErrFull, free>>20, dir, min>>20)
}

// Free is how many bytes the disk of a directory has left for this user.
func Free(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
