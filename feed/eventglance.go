package feed

import "bytes"

// Glance is what a reader of events has to know of each: what it is called and whom it shows.
type Glance struct {
	Deployment, ID, Key   string // CloudEvents source, id and partitionkey
	Later, Earlier, First Name
}

// Name is what a post is known by, and who wrote it.
type Name struct {
	Source string `json:"source"`
	Post   string `json:"post"`
	Author string `json:"author"`
}

// GlanceEvent reads the names in an event as AppendEvent writes it, without reading the rest: a tenth of the work of
// DecodeEvent. It is false where a name is written with an escape, which DecodeEvent reads, and for what does not begin and
// end as AppendEvent would have it; what else is wrong in an event that others wrote it may not notice.
//
// A key with the quotes around it stands for that key wherever it is found: within a string quotes are escaped. Only the
// meta of a post may hold any key; it stands behind the names of the later side, and before the earlier side.
func GlanceEvent(b []byte) (g Glance, ok bool) {
	s := glancer{rest: b, ok: bytes.HasPrefix(b, []byte(head)) && bytes.HasSuffix(b, []byte("}}"))}
	g.Deployment = s.after(head)
	g.ID = s.after(`,"id":`)
	g.Key = s.after(`,"partitionkey":`)
	g.Later = s.name(`,"later":{"source":`)
	s.skipMeta()
	g.Earlier = s.name(earlierKey)
	g.First = s.name(`,"first":{"source":`)
	return g, s.ok
}

const earlierKey = `,"earlier":{"source":`

// glancer walks through an event from key to key; ok is false once something was not as expected.
type glancer struct {
	rest []byte
	ok   bool
}

// skipMeta goes to the key of the earlier side: the last one where there is a meta, which may hold others.
func (s *glancer) skipMeta() {
	i := bytes.Index(s.rest, []byte(earlierKey))
	if i >= 0 && bytes.Contains(s.rest[:i], []byte(`,"meta":`)) {
		i = bytes.LastIndex(s.rest, []byte(earlierKey))
	}
	s.rest = s.rest[max(i, 0):]
}

// after is the string that follows a key.
func (s *glancer) after(key string) string {
	i := bytes.Index(s.rest, []byte(key))
	if i < 0 || !s.ok {
		s.ok = false
		return ""
	}
	return s.quoted(s.rest[i+len(key):])
}

func (s *glancer) quoted(b []byte) string {
	if len(b) == 0 || b[0] != '"' {
		s.ok = false
		return ""
	}
	end := bytes.IndexByte(b[1:], '"') + 1
	if end == 0 || bytes.IndexByte(b[1:end], '\\') >= 0 {
		s.ok = false
		return ""
	}
	s.rest = b[end+1:]
	return string(b[1:end])
}

func (s *glancer) name(key string) Name {
	source := s.after(key)
	post := s.after(`,"post":`)
	return Name{source, post, s.after(`,"author":`)}
}
