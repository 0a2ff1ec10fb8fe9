package blocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LayoutError says that a stream has files that this package does not read: it then takes nothing in it for damaged.
type LayoutError struct {
	Path, Reason string
}

func (e *LayoutError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

// checkLayout looks for what a server writes that encrypts, or was killed in the midst of a purge.
func (s *Stream) checkLayout() error {
	for name, reason := range map[string]string{
		"meta.key":     "the stream is encrypted",
		"__msgs__":     "a purge was not finished, the server finishes it",
		"__new_msgs__": "a purge was not finished, the server finishes it",
	} {
		path := filepath.Join(s.dir, name)
		if _, err := os.Lstat(path); err == nil {
			return &LayoutError{path, reason}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

const (
	indexMagic   = 11
	indexVersion = 4 // the newest that is known
	// maxBlock is no less than any block: of 8 MiB, and a record.
	maxBlock = 8<<20 + maxRecord
)

func checkIndexVersion(path string, b []byte) error {
	if b[0] != indexMagic || b[1] < 1 || b[1] > indexVersion {
		return &LayoutError{path, fmt.Sprintf("an index of version %d.%d, which is not known", b[0], b[1])}
	}
	return nil
}

// compressed is how a block begins whose records are compressed.
const compressed = "cmp\x01"
