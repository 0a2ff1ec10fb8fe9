package file

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// CheckEncoding refuses an encoding of files that is not known.
func CheckEncoding(name string) error {
	if name == "" {
		return nil
	}
	if _, err := htmlindex.Get(name); err != nil {
		return fmt.Errorf("%q: want a name as of the web, such as windows-1252, utf-16 or shift_jis", name)
	}
	return nil
}

var utf16Marks = [][]byte{{0xff, 0xfe}, {0xfe, 0xff}}

// asUTF8 is the text of r in UTF-8. A mark at its beginning tells UTF-16, whatever is said.
func (f *Source) asUTF8(r *bufio.Reader) (*bufio.Reader, error) {
	var from encoding.Encoding
	if f.cfg.Encoding != "" {
		var err error
		if from, err = htmlindex.Get(f.cfg.Encoding); err != nil {
			return nil, err // which validate has refused
		}
	}
	head, err := r.Peek(2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	for _, mark := range utf16Marks {
		if from == nil && bytes.Equal(head, mark) {
			from = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
			f.recognise("UTF-16")
		}
	}
	if from == nil {
		return r, nil
	}
	decoded := transform.NewReader(r, unicode.BOMOverride(from.NewDecoder()))
	return bufio.NewReaderSize(decoded, lineBuffer), nil
}

// foreign are files that people have, and that are no posts yet: how they begin, what they are and what to do.
var foreign = []struct{ begin, what string }{
	{"PK\x03\x04", "a ZIP archive, or an Excel workbook (.xlsx): unpack the one, save the other as CSV (UTF-8)"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook (.xls): save it as CSV (UTF-8)"},
	{"PAR1", "a Parquet file: write it as JSON lines, as duckdb -c \"COPY 'FILE' TO 'posts.jsonl'\" does"},
	{"SQLite format 3\x00", "an SQLite database: write its table as CSV, as sqlite3 -csv -header does"},
	{"BZh", "compressed with bzip2: bzip2 -dc FILE | refrain ... -"},
	{"\xfd7zXZ\x00", "compressed with xz: xz -dc FILE | refrain ... -"},
}

const (
	xlsx = "an Excel workbook (.xlsx): save it as CSV (UTF-8)"
	car  = "a CAR, as of a Bluesky repository, whose records are no text: take the posts from Jetstream, as JSON lines"
	// carHeader follows the length of the header, in one byte or two: a map of two in CBOR that begins with the roots.
	carHeader = "\xa2\x65roots"
)

// refuseForeign names what cannot be read as text.
func refuseForeign(r *bufio.Reader, path string) error {
	head, _ := r.Peek(16) // what is wrong is told by whoever reads on
	for _, f := range foreign {
		if !bytes.HasPrefix(head, []byte(f.begin)) {
			continue
		}
		if strings.EqualFold(filepath.Ext(path), ".xlsx") {
			return errors.New(xlsx)
		}
		return errors.New(f.what)
	}
	if i := bytes.Index(head, []byte(carHeader)); i == 1 || i == 2 {
		return errors.New(car)
	}
	if begin, _ := r.Peek(r.Buffered()); isHTML(begin) {
		return errors.New(webPage)
	}
	return nil
}

const webPage = "an HTML page, in which no posts are marked: export it in another form; Telegram Desktop has " +
	"\"Machine-readable JSON\" (result.json)"

// isHTML reports whether a file begins as a page of the web does, behind a mark and the declaration that XHTML has.
func isHTML(begin []byte) bool {
	begin = begin[:min(len(begin), 512)]
	text := strings.ToLower(string(bytes.TrimLeft(bytes.TrimPrefix(begin, byteOrderMark), " \t\r\n")))
	if strings.HasPrefix(text, "<?xml") {
		_, text, _ = strings.Cut(text, "?>")
		text = strings.TrimLeft(text, " \t\r\n")
	}
	return strings.HasPrefix(text, "<!doctype html") || strings.HasPrefix(text, "<html>") || strings.HasPrefix(text, "<html ")
}

// formats are those that names promise.
var formats = map[string]string{
	".txt": "text", ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".js": "json", ".xml": "xml", ".rss": "xml", ".atom": "xml",
}

// sniff finds the format by the name's ending, and where that says nothing by the first line.
func (f *Source) sniff(r *bufio.Reader) {
	c := &f.cfg
	name := strings.ToLower(c.Path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	if c.Format == "" {
		c.Format = formats[filepath.Ext(name)]
	}
	if c.Format == "" && c.RecordsAt != "" {
		c.Format = "json"
	}
	if c.Format == "" {
		c.Format = f.byContent(r)
	}
	if c.Format == "csv" {
		f.separator = separatorOf(firstLine(r))
		if f.separator != ',' {
			f.recognise(fmt.Sprintf("a table with %s between its columns", separatorNames[f.separator]))
		}
	}
}

// byContent is the format that the first line looks like.
func (f *Source) byContent(r *bufio.Reader) string {
	line := firstLine(r)
	switch {
	case len(line) == 0:
		return "jsonl"
	case line[0] == '[':
		f.recognise("a JSON array")
		return "json"
	case line[0] == '<':
		f.recognise("XML")
		return "xml"
	case line[0] == '{' && goesOn(line) && !beginsObject(r, line):
		f.recognise("JSON objects of several lines")
		return "json"
	case isAssignment(line):
		f.recognise("JavaScript, an array that a variable is given")
		return "json"
	}
	return "jsonl"
}

// goesOn reports whether a line is the beginning of a JSON value that ends in another one.
func goesOn(line []byte) bool {
	if line[len(line)-1] != '\n' {
		return false // the only one, or too long to say
	}
	var v json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(&v), io.ErrUnexpectedEOF)
}

// beginsObject reports whether the line behind the first one begins with an object, as far as it is there: then the first one is
// a line of its own that is cut, and not the beginning of a name and its value.
func beginsObject(r *bufio.Reader, first []byte) bool {
	here, _ := r.Peek(r.Buffered())
	_, behind, _ := bytes.Cut(here, first)
	return bytes.HasPrefix(behind, []byte{'{'})
}

// isAssignment reports whether a line gives a variable a value, as window.YTD.tweets.part0 = [.
func isAssignment(line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte{'='})
	value = bytes.TrimSpace(value)
	return ok && len(bytes.TrimSpace(name)) > 0 && !bytes.ContainsAny(bytes.TrimSpace(name), " \t\"{[,;") &&
		(len(value) == 0 || value[0] == '[' || value[0] == '{')
}

// firstLine is the first line that is not blank, as far as it is in the buffer, without waiting for what is behind it.
func firstLine(r *bufio.Reader) []byte {
	for n := 1; ; {
		here, err := r.Peek(n)
		if buffered, _ := r.Peek(r.Buffered()); len(buffered) > len(here) {
			here = buffered
		}
		line := bytes.TrimLeft(bytes.TrimPrefix(here, byteOrderMark), " \t\r\n")
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			return line[:end+1]
		}
		if err != nil || len(here) >= r.Size() {
			return line
		}
		n = len(here) + 1
	}
}

var separatorNames = map[byte]string{';': "semicolons", '\t': "tabs", '|': "bars"}

// separatorOf is what stands between the names of a header most often, outside of quotes.
func separatorOf(header []byte) byte {
	if isSeparatorLine(header) {
		return bytes.Trim(bytes.TrimSpace(header), `"`)[len("sep=")]
	}
	var counts [256]int
	quoted := false
	for _, c := range header {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[c]++
		}
	}
	best := byte(',')
	for _, c := range []byte(";\t|") {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// recognise keeps what the first bytes have told of a file.
func (f *Source) recognise(what string) {
	if f.recognised != "" {
		what = f.recognised + ", " + what
	}
	f.recognised = what
}

// Recognised is what the first bytes have told of a file, and its name had not; "": nothing.
func (f *Source) Recognised() string { return f.recognised }
