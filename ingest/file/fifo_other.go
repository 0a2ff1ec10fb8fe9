//go:build !unix

package file

import (
	"io"
	"os"
)

// openFIFO waits for a writer: here there is no other way.
func openFIFO(path string) (*os.File, io.Reader, error) {
	f, err := os.Open(path)
	return f, f, err
}
