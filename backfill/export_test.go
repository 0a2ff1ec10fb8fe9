package backfill

import "io"

// WithFiles has a backfill create its files by another function: tests fill disks.
func WithFiles(c Config, create func(path string) (io.WriteCloser, error)) Config {
	c.create = create
	return c
}

// CreateFile is how files are created.
var CreateFile = createFile

// SetMaxIDs has so many ids compared at once, until restore is called.
func SetMaxIDs(n int64) (restore func()) {
	before := maxIDs
	maxIDs = n
	return func() { maxIDs = before }
}
