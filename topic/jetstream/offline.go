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
	h, n, err := readHeader(header)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if data, err = decode(h, data); err != nil {
		return nil, err
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

// readHeader reads a stored header, and how many records it says there are.
func readHeader(stored []byte) (h nats.Header, n int, err error) {
	if len(stored) == 0 {
		return nil, 1, nil
	}
	if h, err = nats.DecodeHeadersMsg(stored); err != nil {
		return nil, 0, err
	}
	packed := h.Get(headerPacked)
	if packed == "" {
		return h, 1, nil
	}
	if n, err = strconv.Atoi(packed); err != nil || n < 1 || n > maxPacked {
		return nil, 0, fmt.Errorf("%q records in a message", packed)
	}
	return h, n, nil
}
