package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"refrain/internal/atomicfile"
)

// Markers say where the tables of one command stand in a document; Markers("bench") are
//
//	<!-- bench:NAME -->
//	…
//	<!-- /bench -->
type Markers string

// Markers in our documents.
const (
	Bench Markers = "bench"
	Eval  Markers = "eval"
)

func (m Markers) begin(name string) string { return "<!-- " + string(m) + ":" + name + " -->" }

func (m Markers) end() string { return "<!-- /" + string(m) + " -->" }

// Replace puts the Markdown of a table between its markers, and leaves the rest of a document as it is.
func (m Markers) Replace(document []byte, name, markdown string) ([]byte, error) {
	from, to, err := m.find(document, name)
	if err != nil {
		return nil, err
	}
	out := append([]byte{}, document[:from]...)
	out = fmt.Appendf(out, "\n%s", markdown)
	return append(out, document[to:]...), nil
}

// find says where a table stands: between its markers.
func (m Markers) find(document []byte, name string) (from, to int, err error) {
	begin := []byte(m.begin(name))
	at := bytes.Index(document, begin)
	if at < 0 {
		return 0, 0, fmt.Errorf("no line %s, and %s behind it, to say where the table goes", begin, m.end())
	}
	at += len(begin)
	length := bytes.Index(document[at:], []byte(m.end()))
	if length < 0 || bytes.Contains(document[at:at+length], []byte("<!-- "+string(m)+":")) {
		return 0, 0, fmt.Errorf("no %s behind %s", m.end(), begin)
	}
	return at, at + length, nil
}

// Write puts a table into the file of a document. The file is replaced at once, or not at all.
func (m Markers) Write(path, name, markdown string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	document, err = m.Replace(document, name, markdown)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return WriteFile(path, document)
}

// WriteFile replaces a file whole, with the permissions that it has.
func WriteFile(path string, content []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return atomicfile.Write(path, mode, func(f io.Writer) error {
		_, err := f.Write(content)
		return err
	})
}

// Wrap is a table with its markers.
func (m Markers) Wrap(name, markdown string) string {
	return m.begin(name) + "\n" + markdown + m.end() + "\n"
}

// CanWrite says why Write could not.
func (m Markers) CanWrite(path, name string) error {
	_, err := m.table(path, name)
	return err
}

// HasWithout reports whether a table stands in the document that was measured without the flag.
func (m Markers) HasWithout(path, name, flag string) (bool, error) {
	table, err := m.table(path, name)
	_, command, measured := strings.Cut(table, commandIs)
	command, _, _ = strings.Cut(command, "`")
	return measured && !slices.Contains(strings.Fields(command), flag), err
}

// table is what stands between the markers.
func (m Markers) table(path, name string) (string, error) {
	document, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	from, to, err := m.find(document, name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(document[from:to]), nil
}
