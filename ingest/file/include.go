package file

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Include says that the records of a page refer to others that stand beside them, as tweets to their authors:
//
//	{"data":[{"id":"1","author_id":"7",...}],"includes":{"users":[{"id":"7","username":"ann"}]}}
//
// Each record gets what it refers to as members of its own.
//
// Or they get a member of the objects that they are in, as messages the id of their chat:
//
//	{"name":"A chat","id":7,"messages":[{"id":1,...}]}
type Include struct {
	Beside     string // the member of the page, includes; "": there is none
	References []Reference

	Outer   string // the member of an object around records, before them: id; "": none
	OuterAs string // the member that a record gets: chat_id
}

// Reference is what records refer to in one list.
type Reference struct {
	List string // the array beside them: users
	Key  string // of its elements: id
	From string // the member of a record that has the key, author_id; or an array of objects with a type and a key
	Type string // of the one that counts in that array, as retweeted; "": the member is the key
	As   string // the member that a record gets: author
}

// page holds the records of one page until it is closed, since what they refer to may stand behind them.
type page struct {
	include *Include // nil: nothing is held
	depth   int      // how much is open around the page
	held    []record
	bytes   int
	beside  []map[string]jsontext.Value // what is referred to, by key, for each reference
	closed  bool                        // held goes out
}

// maxPage bounds what is held, each record with so much around it; of a larger page records go out as they are.
const (
	maxPage  = 64 << 20
	perEntry = 512
)

// hold keeps a record of a page that is open, and reports whether it does.
func (p *page) hold(r *record, depth int) bool {
	if p.include == nil || p.include.Beside == "" || depth < 0 {
		return false
	}
	kept := *r
	kept.raw = bytes.Clone(r.raw)
	p.held, p.depth, p.bytes = append(p.held, kept), depth, p.bytes+len(r.raw)+perEntry
	p.closed = p.bytes > maxPage
	return true
}

// close is told what is open after something was closed.
func (p *page) close(depth int) { p.closed = p.closed || depth <= p.depth }

// next hands out what was held, once the page is closed.
func (p *page) next(r *record) bool {
	if !p.closed {
		return false
	}
	if len(p.held) == 0 {
		p.closed, p.bytes, p.beside = false, 0, nil
		return false
	}
	*r, p.held = p.held[0], p.held[1:]
	r.raw = p.complete(r.raw)
	r.size = max(r.size, len(r.raw))
	return true
}

// wants reports whether the page has beside its records what they refer to, under that name.
func (p *page) wants(name string) bool {
	return p.include != nil && p.include.Beside != "" && name == p.include.Beside
}

// wantsOuter reports whether records get a member of an object around them that begins with c: a number or a string.
func (p *page) wantsOuter(name string, c byte) bool {
	return p.include != nil && name == p.include.Outer && c != '{' && c != '['
}

// including takes in what stands beside the records.
func (p *page) including(raw []byte) {
	var lists map[string]jsontext.Value
	if json.Unmarshal(raw, &lists) != nil {
		return // the records stay as they are
	}
	p.beside = make([]map[string]jsontext.Value, len(p.include.References))
	for i, ref := range p.include.References {
		p.beside[i] = ref.index(lists[ref.List])
	}
}

// index is the elements of a list by their keys.
func (r *Reference) index(list jsontext.Value) map[string]jsontext.Value {
	var elements []jsontext.Value
	if json.Unmarshal(list, &elements) != nil {
		return nil
	}
	index := make(map[string]jsontext.Value, len(elements))
	for _, element := range elements {
		if key := membersOf(element)[r.Key]; key != nil {
			index[string(key)] = slices.Clone(element)
		}
	}
	return index
}

// complete gives a record what it refers to.
func (p *page) complete(raw []byte) []byte {
	if p.beside == nil {
		return raw
	}
	members := membersOf(raw)
	for i, ref := range p.include.References {
		if referred := p.beside[i][ref.key(members)]; referred != nil && members[ref.As] == nil {
			raw = withMember(raw, ref.As, referred)
		}
	}
	return raw
}

// key is the key of what a record refers to, as JSON; "": it refers to nothing.
func (r *Reference) key(members map[string]jsontext.Value) string {
	if r.Type == "" {
		return string(members[r.From])
	}
	var all []map[string]jsontext.Value
	if json.Unmarshal(members[r.From], &all) != nil {
		return ""
	}
	for _, one := range all {
		if string(one["type"]) == `"`+r.Type+`"` {
			return string(one[r.Key])
		}
	}
	return ""
}

// withMember is an object with one more member.
func withMember(object []byte, name string, value []byte) []byte {
	end := bytes.LastIndexByte(object, '}')
	if end < 1 {
		return object
	}
	before := bytes.TrimRight(object[:end:end], " \t\r\n")
	named := append(appendName(nil, name, before[len(before)-1] != '{'), value...)
	return slices.Concat(before, named, object[end:])
}

// membersOf are the members of an object; nil: it is none.
func membersOf(object []byte) map[string]jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(object, &members, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil
	}
	return members
}
