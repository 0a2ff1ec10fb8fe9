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
// Each record gets what it refers to as a member of its own.
type Include struct {
	Beside string // the member of the page: includes
	List   string // the array in it: users
	Key    string // of its elements: id
	From   string // the member of a record that has the key: author_id
	As     string // the member that a record gets: author
}

// page holds the records of one page until it is closed, since what they refer to may stand behind them.
type page struct {
	include *Include // nil: nothing is held
	depth   int      // how much is open around the page
	held    []record
	bytes   int
	beside  map[string]jsontext.Value // what is referred to, by key
	closed  bool                      // held goes out
}

// maxPage bounds what is held; of a larger page records go out as they are.
const maxPage = 64 << 20

// hold keeps a record of a page that is open, and reports whether it does.
func (p *page) hold(r *record, depth int) bool {
	if p.include == nil || depth < 0 {
		return false
	}
	kept := *r
	kept.raw = bytes.Clone(r.raw)
	p.held, p.depth, p.bytes = append(p.held, kept), depth, p.bytes+len(r.raw)
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
func (p *page) wants(name string) bool { return p.include != nil && name == p.include.Beside }

// including takes in what stands beside the records.
func (p *page) including(raw []byte) {
	var lists map[string]jsontext.Value
	var list []jsontext.Value
	if json.Unmarshal(raw, &lists) != nil || json.Unmarshal(lists[p.include.List], &list) != nil {
		return // the records stay as they are
	}
	p.beside = make(map[string]jsontext.Value, len(list))
	for _, element := range list {
		if key := memberOf(element, p.include.Key); key != nil {
			p.beside[string(key)] = slices.Clone(element)
		}
	}
}

// complete gives a record what it refers to.
func (p *page) complete(raw []byte) []byte {
	referred := p.beside[string(memberOf(raw, p.include.From))]
	if referred == nil || memberOf(raw, p.include.As) != nil {
		return raw
	}
	end := bytes.LastIndexByte(raw, '}')
	name, _ := jsontext.AppendQuote(nil, p.include.As)
	return slices.Concat(raw[:end:end], []byte(","), name, []byte(":"), referred, raw[end:])
}

// memberOf is the value of a member of an object, nil where there is none.
func memberOf(object []byte, name string) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(object, &members, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil
	}
	return members[name]
}
