package tables

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The tables of a document stand between these.
const endMarker = "<!-- /bench -->"

func beginMarker(name string) string { return "<!-- bench:" + name + " -->" }

// Replace puts the Markdown of a table between its markers, and leaves the rest of a document as it is:
//
//	<!-- bench:NAME -->
//	…
//	<!-- /bench -->
func Replace(document []byte, name, markdown string) ([]byte, error) {
	begin := []byte(beginMarker(name))
	at := bytes.Index(document, begin)
	if at < 0 {
		return nil, fmt.Errorf("no line %s, and %s behind it, to say where the table goes", begin, endMarker)
	}
	at += len(begin)
	length := bytes.Index(document[at:], []byte(endMarker))
	if length < 0 || bytes.Contains(document[at:at+length], []byte("<!-- bench:")) {
		return nil, fmt.Errorf("no %s behind %s", endMarker, begin)
	}
	whole := append([]byte{}, document[:at]...)
	whole = fmt.Appendf(whole, "\n%s", markdown)
	return append(whole, document[at+length:]...), nil
}

// Write puts a table into the file of a document. The file is replaced at once, or not at all.
func Write(path, name, markdown string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	document, err = Replace(document, name, markdown)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeFile(path, document)
}

// writeFile writes a file beside it and renames that.
func writeFile(path string, content []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".bench-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Marked is a table with its markers.
func Marked(name, markdown string) string {
	return beginMarker(name) + "\n" + markdown + endMarker + "\n"
}

// CanWrite says why Write could not.
func CanWrite(path, name string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := Replace(document, name, ""); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
