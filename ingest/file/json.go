package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"refrain/ingest"
)

// jsonReader cuts JSON into records, whatever lines it has: the elements of an array, objects one after the other, or
// what lies at a path inside of them, as data of {"data":[…],"meta":{…}}. An array on the path stands for all of its
// elements. What it holds is one record, or one page where the records want something that stands behind them.
//
// It only matches brackets and quotes, and leaves it to the decoder to judge a record: one that is wrong inside spoils
// itself alone.
type jsonReader struct {
	lines  *lineReader
	paths  paths    // from the top to the records
	stack  []level  // what is open
	number int64    // of records so far
	buf    []byte   // of the value read
	size   int      // of all of it
	others []string // the first names of the top that lead nowhere
	page   page
	cut    bool // the file ended within something
}

// level is an object or array that is open, on the way to the records.
type level struct {
	array bool
	paths paths  // from here to the records
	top   bool   // no name has been followed yet
	outer []byte // the member of this object that records get; nil: none was read yet
}

// paths lead to records. They part where names do, and end where records are.
type paths [][]string

// parsePaths reads a|b.c; a dot alone are the records themselves.
func parsePaths(s string) (all paths) {
	if s == "" || s == WholeRecords {
		return paths{nil}
	}
	for one := range strings.SplitSeq(s, "|") {
		all = append(all, strings.Split(one, "."))
	}
	return all
}

func (p paths) end() bool { return len(p[0]) == 0 }

// follow are the paths behind a name; none: it leads nowhere.
func (p paths) follow(name string) (behind paths) {
	for _, path := range p {
		if len(path) > 0 && path[0] == name {
			behind = append(behind, path[1:])
		}
	}
	return behind
}

func (p paths) String() string {
	all := make([]string, len(p))
	for i, path := range p {
		all[i] = strings.Join(path, ".")
	}
	return strings.Join(all, "|")
}

// maxLevels bounds what is open: a path is short, and arrays of arrays are nobody's.
const maxLevels = 100

// WholeRecords, as the path of the records, says that they are what is read, even where a preset has a path.
const WholeRecords = "."

func newJSONReader(lines *lineReader, at string, include *Include) *jsonReader {
	return &jsonReader{lines: lines, paths: parsePaths(at), page: page{include: include}}
}

var errEndsEarly = errors.New("the JSON ends too early: an array or object is not closed")

// read fills in the next record.
func (j *jsonReader) read(r *record) error {
	for {
		if j.page.next(r) {
			return nil
		}
		if j.cut {
			return errEndsEarly
		}
		found, err := j.step(r)
		if found {
			j.addOuter(r)
		}
		switch {
		case err == io.EOF && len(j.stack) > 0:
			j.stack, j.page.closed, j.cut = nil, true, true
		case err == io.EOF && j.number == 0 && !j.paths.end():
			return j.nothing()
		case err != nil:
			return err
		case found && !j.page.hold(r, j.pageLevel()):
			return nil
		}
	}
}

// nothing says that the path leads nowhere.
func (j *jsonReader) nothing() error {
	return fmt.Errorf("no records at %q: the file has %q (--records says where they are, --records . that they are not within "+
		"others)", j.paths.String(), j.others)
}

// step reads up to the next record, or to the beginning or end of something on the way.
func (j *jsonReader) step(r *record) (found bool, err error) {
	c, err := j.skip()
	if err != nil {
		return false, err
	}
	switch top := j.top(); {
	case len(j.stack) > 0 && (c == ']' || c == '}'):
		j.stack = j.stack[:len(j.stack)-1]
		j.page.close(len(j.stack))
		return false, nil
	case c == ',' || c == ';' && len(j.stack) == 0:
		return false, nil
	case len(j.stack) > 0 && !top.array:
		return j.member(r, c, top)
	case len(j.stack) == 0 && unicode.IsLetter(rune(c)):
		return j.assignment(r, c)
	default:
		return j.enter(r, c, top)
	}
}

// pageLevel is where in the stack the object is in which the path begins, -1 where there is none.
func (j *jsonReader) pageLevel() int {
	return slices.IndexFunc(j.stack, func(l level) bool { return !l.array && l.top })
}

// top is the innermost level; the file itself is like an object that is one value after the other.
func (j *jsonReader) top() level {
	if len(j.stack) == 0 {
		return level{paths: j.paths, top: true}
	}
	return j.stack[len(j.stack)-1]
}

// enter goes into the value that begins with c if the path leads on, and else it is a record if the path ends.
func (j *jsonReader) enter(r *record, c byte, at level) (found bool, err error) {
	switch {
	case c == '[' && (!at.paths.end() || !at.array), c == '{' && !at.paths.end():
		if len(j.stack) == maxLevels {
			return false, fmt.Errorf("arrays within each other, more than %d", maxLevels)
		}
		j.stack = append(j.stack, level{array: c == '[', paths: at.paths, top: at.top})
		return false, nil
	case !at.paths.end():
		return false, j.value(c, 0)
	}
	line := j.lines.number + 1
	err = j.value(c, j.lines.limit)
	if err == io.EOF {
		err = nil
		r.reason = errEndsEarly
		j.stack, j.page.closed, j.cut = nil, true, true
	}
	j.number++
	r.line, r.number, r.raw, r.size = line, j.number, j.buf, j.size
	return true, err
}

// member reads a member of an object on the path, whose name begins with c.
func (j *jsonReader) member(r *record, c byte, of level) (found bool, err error) {
	if c != '"' {
		return false, fmt.Errorf("line %d: want a name in quotes, found %q", j.lines.number+1, c)
	}
	if err := j.value(c, maxMemberName); err != nil {
		return false, err
	}
	name := strings.Trim(string(j.buf), `"`)
	if c, err = j.skip(); err == nil && c == ':' {
		c, err = j.skip()
	}
	behind := of.paths.follow(name)
	switch {
	case err != nil:
		return false, err
	case behind != nil:
		return j.enter(r, c, level{paths: behind})
	case of.top && j.page.wants(name):
		err := j.value(c, j.lines.limit)
		j.page.including(j.buf)
		return false, err
	case j.page.wantsOuter(name, c):
		err := j.value(c, maxMemberName)
		j.stack[len(j.stack)-1].outer = bytes.Clone(j.buf)
		return false, err
	}
	if len(j.others) < 10 && !slices.Contains(j.others, name) {
		j.others = append(j.others, name)
	}
	return false, j.value(c, 0)
}

const maxMemberName = 1024

// addOuter gives a record the member of the innermost object around it that has one.
func (j *jsonReader) addOuter(r *record) {
	for i := len(j.stack) - 1; i >= 0; i-- {
		if outer := j.stack[i].outer; outer != nil && bytes.HasSuffix(r.raw, []byte{'}'}) {
			r.raw = withMember(r.raw, j.page.include.OuterAs, outer)
			r.size = max(r.size, len(r.raw))
			return
		}
	}
}

// assignment passes over the name that a script gives its value: window.YTD.tweets.part0 = [...]. What is none is a record
// that is refused.
func (j *jsonReader) assignment(r *record, c byte) (found bool, err error) {
	j.buf = append(j.buf[:0], c)
	for err == nil && c != '=' && c != '\n' && len(j.buf) < ingest.MaxRaw {
		if c, err = j.readByte(); err == nil {
			j.buf = append(j.buf, c)
		}
	}
	if c == '=' || err != nil && err != io.EOF {
		return false, err
	}
	j.number++
	r.line, r.number, r.raw, r.size = j.lines.number, j.number, trimEnd(j.buf), len(trimEnd(j.buf))
	return true, nil
}

// value reads the value that begins with c, and keeps its first bytes, up to limit.
func (j *jsonReader) value(c byte, limit int) error {
	j.buf, j.size = j.buf[:0], 0
	if cap(j.buf) > batchBytes {
		j.buf = nil
	}
	depth, quoted := 0, false
	for {
		if !quoted && (c == '\n' || c == '\r') {
			c = ' ' // a record is one line wherever it is shown or written again
		}
		if j.size++; j.size <= limit {
			j.buf = append(j.buf, c)
		}
		switch {
		case quoted && c == '\\':
			escaped, err := j.readByte()
			if err != nil {
				return err
			}
			if j.size++; j.size <= limit {
				j.buf = append(j.buf, escaped)
			}
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 0 && !quoted && (c == '"' || c == '}' || c == ']' || j.scalarEnds()) {
			return nil
		}
		var err error
		if c, err = j.readByte(); err != nil {
			return err
		}
	}
}

// scalarEnds reports whether what follows is no part of a number or literal.
func (j *jsonReader) scalarEnds() bool {
	next, err := j.lines.r.Peek(1)
	return err != nil || strings.IndexByte(",]}:{[\" \t\r\n;", next[0]) >= 0
}

func (j *jsonReader) readByte() (byte, error) {
	c, err := j.lines.r.ReadByte()
	if c == '\n' {
		j.lines.number++
	}
	return c, err
}

// skip returns the next byte that is neither white space nor a byte order mark.
func (j *jsonReader) skip() (byte, error) {
	for {
		c, err := j.readByte()
		if err != nil || strings.IndexByte(" \t\r\n\xef\xbb\xbf", c) < 0 {
			return c, err
		}
	}
}
