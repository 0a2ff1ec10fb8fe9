package jetstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/nats-io/nats.go"
)

// Hold keeps servers from a data directory until it is closed, and writes nothing. An *InUseError says that a process has
// it already. A directory that no server has ever used is not held.
func Hold(dir string) (io.Closer, error) {
	f, err := os.Open(filepath.Join(dir, lockName))
	if errors.Is(err, os.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &InUseError{Dir: dir, PID: readPID(f)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Unpack returns the data of the records of a stored message: what Topic.Append has put into it.
func Unpack(header, data []byte) ([][]byte, error) {
	n := 1
	if len(header) > 0 {
		h, err := nats.DecodeHeadersMsg(header)
		if err != nil {
			return nil, fmt.Errorf("header: %w", err)
		}
		if packed := nats.Header(h).Get(headerPacked); packed != "" {
			if n, err = strconv.Atoi(packed); err != nil || n < 1 || n > mostPacked {
				return nil, fmt.Errorf("header: %q records in a message", packed)
			}
		}
	}
	if n == 1 {
		return [][]byte{data}, nil
	}
	records, ok := unpack(data, n)
	if !ok {
		return nil, fmt.Errorf("not %d records", n)
	}
	all := make([][]byte, n)
	for i := range records {
		all[i] = records[i].Data
	}
	return all, nil
}
