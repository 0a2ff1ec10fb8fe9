// Package product finds the binary that is measured, refrain, for programs that start it as anyone would.
package product

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Flag is what the flag --refrain of a program says of itself.
const Flag = "`file` of the refrain to measure (default: beside this program, else on PATH, else built from the source here)"

// Binary is refrain in a file.
type Binary struct {
	Path   string
	folder string // made for it; "": none
}

// Remove deletes what was built. What was found stays.
func (b *Binary) Remove() {
	if b.folder != "" {
		os.RemoveAll(b.folder)
	}
}

// Find returns the binary that is named, else the one beside this program, else the one on PATH, else one that it builds
// from the source in the working directory, as for go run. It is to be removed at the end.
func Find(ctx context.Context, named string) (*Binary, error) {
	if named != "" {
		return open(named)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if b, err := open(filepath.Join(filepath.Dir(self), "refrain")); err == nil {
		return b, nil
	}
	if path, err := exec.LookPath("refrain"); err == nil {
		return open(path)
	}
	b, err := Build(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("no refrain to measure: none beside %s, none on PATH, none built: %w; name one with "+
			"--refrain FILE", self, err)
	}
	return b, err
}

// open is a binary that is there: never looked up on PATH.
func open(path string) (*Binary, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		_, err = exec.LookPath(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("--refrain %s: %w", path, errors.Unwrap(err))
	}
	return &Binary{Path: abs}, nil
}

// Build makes the binary from the source in the working directory.
func Build(ctx context.Context) (*Binary, error) {
	folder, err := os.MkdirTemp("", "refrain-lab-*")
	if err != nil {
		return nil, err
	}
	b := &Binary{Path: filepath.Join(folder, "refrain"), folder: folder}
	output, err := exec.CommandContext(ctx, "go", "build", "-o", b.Path, "refrain/cmd/refrain").CombinedOutput()
	switch {
	case err == nil:
		return b, nil
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	default:
		err = fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(output))
	}
	b.Remove()
	return nil, err
}
