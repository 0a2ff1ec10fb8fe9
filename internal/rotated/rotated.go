// Package rotated writes files that keep their size.
package rotated

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Config says how large a file may become. All but Dropped is required.
type Config struct {
	Path     string
	MaxBytes int64 // of a file, above 0; a line that is longer has one of its own
	Old      int   // files besides the one that is written, 0 or more
	// Dropped is told how many lines the file had that has just made room; nil: nobody is. The file is called after the
	// last one that is kept.
	Dropped func(lines int)
}

// File is a file of lines that is renamed and begun anew before it exceeds a size: FILE.1 is the one before it, then FILE.2.
// Rotated here because the program must be safe to leave alone where nothing else rotates logs. It is safe for
// concurrent use.
type File struct {
	cfg Config

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open goes on with the file at the path, or makes it.
func Open(cfg Config) (*File, error) {
	l := &File{cfg: cfg}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg.Path, err)
	}
	return l, nil
}

func (l *File) open() error {
	file, err := os.OpenFile(l.cfg.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write implements io.Writer: p is never split between files.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.size > 0 && l.size+int64(len(p)) > l.cfg.MaxBytes {
		if err := l.rotate(); err != nil {
			return 0, fmt.Errorf("rotate %s: %w", l.cfg.Path, err)
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// rotate leaves l without a file when it fails; the next Write tries again.
func (l *File) rotate() error {
	if l.file != nil {
		err := l.file.Close()
		l.file = nil
		if err != nil {
			return err
		}
		if err := l.shift(); err != nil {
			return err
		}
	}
	return l.open()
}

// shift renames the files, the oldest first, which makes room by being removed.
func (l *File) shift() error {
	if err := l.drop(); err != nil {
		return err
	}
	for i := l.cfg.Old - 1; i >= 0; i-- {
		if err := os.Rename(l.name(i), l.name(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (l *File) drop() error {
	oldest := l.name(l.cfg.Old)
	lines, err := countLines(oldest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(oldest); err != nil { // also one that cannot be read: lines is what could
		return err
	}
	if l.cfg.Dropped != nil {
		l.cfg.Dropped(lines)
	}
	return nil
}

func countLines(path string) (lines int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		lines += bytes.Count(buf[:n], []byte("\n"))
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}

func (l *File) name(i int) string {
	if i == 0 {
		return l.cfg.Path
	}
	return fmt.Sprintf("%s.%d", l.cfg.Path, i)
}

// Close ends writing.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
