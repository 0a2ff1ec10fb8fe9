//go:build unix

package file

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFIFO opens a named pipe without waiting for who writes to it: that may be an hour later, or never.
func openFIFO(path string) (*os.File, io.Reader, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, fifo{raw}, nil
}

// fifo reads a named pipe until its last writer has gone. It ends a wait when the file's deadline has passed, or the
// file is closed.
type fifo struct{ raw syscall.RawConn }

func (f fifo) Read(p []byte) (n int, err error) {
	waited := f.raw.Read(func(fd uintptr) (done bool) {
		n, err = unix.Read(int(fd), p)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return false
		case err == nil && n == 0:
			return hungUp(fd) // without a writer there is nothing to read: this one has gone, or the first is still to come
		}
		return true
	})
	switch {
	case waited != nil:
		return 0, waited
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func hungUp(fd uintptr) bool {
	state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := unix.Poll(state, 0)
	return err == nil && state[0].Revents&unix.POLLHUP != 0 && state[0].Revents&unix.POLLIN == 0
}
