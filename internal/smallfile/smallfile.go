// Package smallfile reads whole the files that somebody names in a setting: configurations, secrets, certificates, lists.
package smallfile

import (
	"fmt"
	"io"
	"os"

	"refrain/internal/units"
)

// Read returns what is in a file, or comes through a pipe. A wrong name may be that of a device or an archive: one with
// more than limit bytes is an error, before it takes memory without end.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: more than %s: is it another file that is meant?", path, units.FormatBytes(limit))
	}
	return data, nil
}
