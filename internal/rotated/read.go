package rotated

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// ErrPlace says that something is not what Backward calls the place of a line.
var ErrPlace = errors.New("not the place of a line")

// part is one of the files as it was when it was opened: what follows is not read, and that it is renamed changes nothing.
type part struct {
	*os.File
	size int64
}

// parts are the files that have lines, the one that is written first.
func (l *File) parts() (all []part, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := 0; i <= l.cfg.Old; i++ {
		f, err := os.Open(l.name(i))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return all, err
		}
		info, err := f.Stat()
		if err != nil || info.Size() == 0 {
			_ = f.Close() // it was only read
			continue
		}
		all = append(all, part{f, info.Size()})
	}
	return all, nil
}

func closeAll(parts []part) {
	for _, p := range parts {
		_ = p.Close() // it was only read
	}
}

// Forward calls visit for the lines, the oldest first, until it returns an error, which Forward returns. Lines have no line end,
// and belong to Forward.
func (l *File) Forward(visit func(line []byte) error) error {
	parts, err := l.parts()
	defer closeAll(parts)
	for i := len(parts) - 1; i >= 0 && err == nil; i-- {
		err = parts[i].forward(visit)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", l.cfg.Path, err)
	}
	return nil
}

func (p part) forward(visit func(line []byte) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(p, 0, p.size), 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF { // a line that has no end is not finished
			return nil
		}
		if err == nil {
			err = visit(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			return err
		}
	}
}

// Backward calls visit for the lines, the latest first, with the place of each, until it returns false. It begins with the last
// one, or with the one before a place, whatever has been written or renamed since: of a file that is gone there are none.
func (l *File) Backward(before string, visit func(line []byte, place string) bool) error {
	id, end, err := parsePlace(before)
	if err != nil {
		return err
	}
	parts, err := l.parts()
	defer closeAll(parts)
	for i := 0; i < len(parts) && err == nil; i++ {
		name, from := "", parts[i].size
		if name, err = parts[i].id(); err != nil || before != "" && name != id {
			continue
		}
		if before != "" {
			before, from = "", min(end, from)
		}
		more := false
		more, err = backward(parts[i], from, func(line []byte, offset int64) bool {
			return visit(line, name+"-"+strconv.FormatInt(offset, 10))
		})
		if !more {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", l.cfg.Path, err)
	}
	return nil
}

func parsePlace(s string) (id string, end int64, err error) {
	if s == "" {
		return "", 0, nil
	}
	id, offset, _ := strings.Cut(s, "-")
	if end, err = strconv.ParseInt(offset, 10, 64); err != nil || end < 0 || len(id) != 16 {
		return "", 0, fmt.Errorf("%q: %w", s, ErrPlace)
	}
	return id, end, nil
}

// id tells a file from others by how it begins, since its name changes.
func (p part) id() (string, error) {
	head := make([]byte, min(p.size, 512))
	if _, err := p.ReadAt(head, 0); err != nil && err != io.EOF {
		return "", err
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return fmt.Sprintf("%016x", xxh3.Hash(line)), nil
}

// backward visits the lines that end at an offset or before; it is false when visit was.
func backward(r io.ReaderAt, end int64, visit func(line []byte, offset int64) bool) (bool, error) {
	const chunk = 64 << 10
	var rest []byte // from end on: lines that are still to be visited, the first of which may begin before
	for end > 0 || len(rest) > 0 {
		i := bytes.LastIndexByte(rest[:max(len(rest)-1, 0)], '\n')
		if i < 0 && end > 0 {
			n := min(chunk, end)
			b := make([]byte, n, n+int64(len(rest)))
			if _, err := r.ReadAt(b, end-n); err != nil && err != io.EOF {
				return false, err
			}
			rest, end = append(b, rest...), end-n
			continue
		}
		if !visit(bytes.TrimSuffix(rest[i+1:], []byte("\n")), end+int64(i+1)) {
			return false, nil
		}
		rest = rest[:i+1]
	}
	return true, nil
}
