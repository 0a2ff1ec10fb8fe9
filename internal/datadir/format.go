package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"refrain/internal/atomicfile"
)

// Format is the format of the data directories that this program writes. It grows by one with every change after which
// an older program would take for damage, pass over or ruin what is there. All from 1 on are read: directories of before
// the file FORMAT are of format 1.
const Format = 1

// formatName is the file that has a directory's format as a decimal number. No future format may do without it.
const formatName = "FORMAT"

// FormatError says that a directory is of a format that this program does not know.
type FormatError struct{ Format int }

func (e *FormatError) Error() string {
	return fmt.Sprintf("it is of format %d and this program reads formats up to %d: a newer program has written there; "+
		"use that one, or put a copy of before the upgrade in its place (docs/running.md, Going back)", e.Format, Format)
}

// Claim makes a directory one that this program may write in. It is called with the directory's lock held, before anything
// else is opened there: one of an unknown format is refused, with a *FormatError, and left as it is.
func Claim(dir string) error {
	format, err := readFormat(dir)
	if err != nil || format == Format {
		return err
	}
	return writeFormat(dir, Format)
}

func writeFormat(dir string, format int) error {
	err := atomicfile.Write(filepath.Join(dir, formatName), 0o600, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, format)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", formatName, err)
	}
	return nil
}

// readFormat is the format of a directory, 0 where none is written. An unknown one is a *FormatError.
func readFormat(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, formatName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	format, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || format < 1 {
		return 0, fmt.Errorf("%s: %w: %.20q is no number; write into it what `refrain version` says of the program that "+
			"last wrote in the directory", formatName, errFormatDamaged, text)
	}
	if format > Format {
		return 0, &FormatError{format}
	}
	return format, nil
}

// errFormatDamaged says that nobody can tell what format a directory is of.
var errFormatDamaged = errors.New("damaged")
