package inspect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"refrain/ingest/file"
)

// Field is one field of the records.
type Field struct {
	Path    string // with dots
	Kind    string // string, number, boolean, array or object
	Count   int    // records that have it
	Example string
	length  int // of all strings
	spaces  int // in them
}

// fieldsOf lists what the records have.
func fieldsOf(records [][]byte) (fields []Field) {
	index := map[string]int{}
	for _, record := range records {
		walk(record, "", func(path string, value jsontext.Value) {
			i, ok := index[path]
			if !ok {
				i = len(fields)
				index[path] = i
				fields = append(fields, Field{Path: path, Kind: kindOf(value)})
			}
			f := &fields[i]
			f.Count++
			f.length += len(value)
			f.spaces += bytes.Count(value, []byte{' '})
			if f.Example == "" || f.Example == `""` {
				f.Example = string(value)
			}
		})
	}
	return fields
}

// maxDepth is how deep objects are gone into: no platform hides the text of a post deeper.
const maxDepth = 4

// walk visits the values of an object that are no objects themselves, null left out. Of an object that is cut it visits
// what is there.
func walk(object []byte, prefix string, visit func(path string, value jsontext.Value)) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() == '}' {
			return
		}
		path := prefix + name.String()
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		switch {
		case value.Kind() == 'n':
		case value.Kind() == '{' && strings.Count(path, ".") < maxDepth:
			walk(value.Clone(), path+".", visit)
		default:
			visit(path, value)
		}
	}
}

func kindOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "boolean"
}

// fewRecords are so many that each may hold many.
const fewRecords = 100

// arrayIn is where the records are if each of what was read holds many: the path of the array with the most objects.
func arrayIn(s file.Sample) string {
	if s.Format != "json" && s.Format != "jsonl" || len(s.Records) == 0 || len(s.Records) > fewRecords {
		return ""
	}
	best, most := "", 1
	walk(s.Records[0], "", func(path string, value jsontext.Value) {
		elements := elementsOf(value)
		if len(elements) <= most || elements[0].Kind() != '{' {
			return
		}
		best, most = path, len(elements)
	})
	return best
}

func elementsOf(value jsontext.Value) (elements []jsontext.Value) {
	if value.Kind() != '[' || json.Unmarshal(value, &elements, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil
	}
	return elements
}

// places are where records may be within what was read: in an array, or in a member of its elements.
func (r *Report) places() (places []string) {
	at := arrayIn(r.Sample)
	if at == "" {
		return nil
	}
	places = []string{at}
	walk(r.Records[0], "", func(path string, value jsontext.Value) {
		if path != at {
			return
		}
		for name, member := range membersOf(elementsOf(value)[0]) {
			if member.Kind() == '{' {
				places = append(places, at+"."+name)
			}
		}
	})
	slices.Sort(places[1:])
	return places
}

func membersOf(object []byte) (members map[string]jsontext.Value) {
	if json.Unmarshal(object, &members, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return members
}

// pandasOrient is how DataFrame.to_json has put a whole table into one object: columns, index or split; "": it is none.
func pandasOrient(records [][]byte) string {
	if len(records) != 1 {
		return ""
	}
	members := membersOf(records[0])
	if columns, data := elementsOf(members["columns"]), elementsOf(members["data"]); columns != nil && data != nil {
		return "split"
	}
	if len(members) > 0 && isNumbered(members) && areObjects(members) {
		return "index"
	}
	for _, column := range members {
		if column.Kind() != '{' || !isNumbered(membersOf(column)) {
			return ""
		}
	}
	if len(members) < 2 {
		return ""
	}
	return "columns"
}

// isNumbered reports whether the members of an object are called 0, 1 and so on, in any order.
func isNumbered(members map[string]jsontext.Value) bool {
	for i := range len(members) {
		if _, ok := members[strconv.Itoa(i)]; !ok {
			return false
		}
	}
	return len(members) > 0
}

func areObjects(members map[string]jsontext.Value) bool {
	for _, member := range members {
		if member.Kind() != '{' {
			return false
		}
	}
	return true
}
