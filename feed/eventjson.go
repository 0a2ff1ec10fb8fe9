package feed

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ReuseType is the CloudEvents type of a match.
const ReuseType = "dev.refrain.reuse.v1"

// RetractedType is the CloudEvents type that says that a post was deleted, or an author.
const RetractedType = "dev.refrain.retracted.v1"

// head is what a match begins with.
const head = `{"specversion":"1.0","type":"` + ReuseType + `","source":`

// AppendEvent is AppendEventOf of a deployment that has no more than a name.
func (m *Match) AppendEvent(dst []byte, deployment string) []byte {
	return m.AppendEventOf(dst, &Deployment{Name: deployment})
}

// AppendEventOf appends m as a CloudEvents 1.0 structured JSON object, without a newline. Bytes that are not UTF-8 come out
// as U+FFFD. The attributes subject and partitionkey are the post's id as Attribute writes it.
//
// It is written by hand because it runs once an event and there may be several events a post.
func (m *Match) AppendEventOf(dst []byte, d *Deployment) []byte {
	post := Attribute(m.Later.Post)
	dst = append(dst, head...)
	dst = appendString(dst, d.Name)
	dst = append(dst, `,"id":"`...)
	dst = appendHash(dst, m.ID)
	dst = append(dst, `","time":`...)
	dst = appendTime(dst, m.Later.Time)
	dst = append(dst, `,"subject":`...)
	dst = appendString(dst, post)
	dst = append(dst, `,"partitionkey":`...)
	dst = appendString(dst, post)
	dst = d.AppendContent(dst, ReuseType)
	dst = append(dst, `,"data":`...)
	dst = m.appendData(dst)
	return append(dst, '}')
}

func (m *Match) appendData(dst []byte) []byte {
	dst = append(dst, `{"scheme":`...)
	dst = appendString(dst, m.Scheme)
	dst = append(dst, `,"group":"`...)
	dst = appendHash(dst, m.Group)
	dst = append(dst, `","jaccard":`...)
	dst = strconv.AppendFloat(dst, m.Jaccard, 'g', -1, 64)
	if m.Measure != "" {
		dst = appendString(append(dst, `,"measure":`...), m.Measure)
		dst = strconv.AppendFloat(append(dst, `,"similarity":`...), m.Similarity, 'g', -1, 64)
	}
	dst = append(dst, `,"hamming":`...)
	dst = strconv.AppendInt(dst, int64(m.Hamming), 10)
	dst = appendBool(dst, `,"identical":`, m.Identical)
	dst = m.Later.append(append(dst, `,"later":`...))
	dst = append(m.Later.appendOwn(dst), '}')
	dst = m.Earlier.append(append(dst, `,"earlier":`...))
	dst = append(dst, '}')
	dst = m.First.append(append(dst, `,"first":`...))
	dst = append(dst, `,"occurrences":`...)
	dst = strconv.AppendInt(dst, int64(m.Occurrences), 10)
	dst = append(dst, `,"authors":`...)
	dst = strconv.AppendInt(dst, int64(m.Authors), 10)
	dst = appendBool(dst, `,"authorsEstimated":`, m.AuthorsEstimated)
	dst = append(dst, `,"coverage":`...)
	dst = strconv.AppendFloat(dst, m.Coverage, 'g', 3, 64)
	dst = appendBool(dst, `,"sameAuthor":`, m.SameAuthor)
	dst = appendBool(dst, `,"repost":`, m.Repost)
	dst = appendBool(dst, `,"timeAdjusted":`, m.TimeAdjusted)
	dst = appendBool(dst, `,"truncated":`, m.Truncated)
	return append(dst, '}')
}

// append appends what both sides of a match have, without the closing brace.
func (o *Occurrence) append(dst []byte) []byte {
	dst = appendString(append(dst, `{"source":`...), o.Source)
	dst = appendString(append(dst, `,"post":`...), o.Post)
	dst = appendString(append(dst, `,"author":`...), o.Author)
	dst = appendString(append(dst, `,"lang":`...), o.Lang)
	dst = appendTime(append(dst, `,"time":`...), o.Time)
	dst = strconv.AppendInt(append(dst, `,"sentence":`...), int64(o.Sentence), 10)
	dst = strconv.AppendInt(append(dst, `,"start":`...), int64(o.Start), 10)
	dst = strconv.AppendInt(append(dst, `,"end":`...), int64(o.End), 10)
	dst = appendString(append(dst, `,"text":`...), o.Text)
	if o.TextCut {
		dst = append(dst, `,"textCut":true`...)
	}
	if o.Converted {
		dst = append(dst, `,"converted":true`...)
	}
	return dst
}

// appendOwn appends what only the later side has: most events have neither link nor meta, and say nothing of them.
func (o *Occurrence) appendOwn(dst []byte) []byte {
	dst = append(appendHash(append(dst, `,"group":"`...), o.Group), '"')
	if o.Link != "" {
		dst = appendString(append(dst, `,"link":`...), o.Link)
	}
	if o.Meta != "" {
		dst = append(append(dst, `,"meta":`...), o.Meta...)
	}
	return dst
}

func (f *First) append(dst []byte) []byte {
	dst = appendString(append(dst, `{"source":`...), f.Source)
	dst = appendString(append(dst, `,"post":`...), f.Post)
	dst = appendString(append(dst, `,"author":`...), f.Author)
	dst = appendTime(append(dst, `,"time":`...), f.Time)
	return append(dst, '}')
}

// appendString quotes s as JSON: as it is, where nothing in it needs an escape. Invalid UTF-8 is replaced, which
// AppendQuote also reports as an error.
func appendString(dst []byte, s string) []byte {
	if n, high := clear8(s); n < len(s) || high && !utf8.ValidString(s) {
		dst, _ = jsontext.AppendQuote(dst, s)
		return dst
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

func appendHash(dst []byte, h Hash) []byte {
	const digits = "0123456789abcdef"
	for _, c := range h {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// appendTime is Time.String in quotes.
func appendTime(dst []byte, t Time) []byte {
	dst = append(dst, '"')
	if t%1000 != 0 || t < 0 || t >= everyFourth {
		dst = t.Time().AppendFormat(dst, timeLayout)
		return append(dst, '"')
	}
	year, month, day := civil(int(t / msPerDay))
	s := int(t % msPerDay / 1000)
	dst = append2(append2(dst, year/100), year%100)
	dst = append2(append(dst, '-'), month)
	dst = append2(append(dst, '-'), day)
	dst = append2(append(dst, 'T'), s/3600)
	dst = append2(append(dst, ':'), s/60%60)
	dst = append2(append(dst, ':'), s%60)
	return append(dst, 'Z', '"')
}

const msPerDay = 24 * 60 * 60 * 1000

func append2(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// everyFourth is the time from which on not every fourth year has a February 29: 2100-03-01.
const everyFourth = 4107542400_000

// civil is the date of a day, counted from 1970-01-01, before everyFourth. Its years begin in March, so that a leap
// day is the last of a year; then the months have 31, 30, 31, 30, 31 days twice, and once more as far as they go: 153
// days in five of them. Day 0 of the four-year cycles is 1968-03-01, 671 days before 1970.
func civil(days int) (year, month, day int) {
	cycle, day := (days+671)/1461, (days+671)%1461
	year = min(day/365, 3)
	day -= 365 * year
	month = (5*day + 2) / 153
	day -= (153*month + 2) / 5
	year += 1968 + 4*cycle
	if month >= 10 {
		return year + 1, month - 9, day + 1
	}
	return year, month + 3, day + 1
}

func appendBool(dst []byte, key string, v bool) []byte {
	return strconv.AppendBool(append(dst, key...), v)
}

// eventJSON is the shape of an event for reading; AppendEvent is its counterpart.
type eventJSON struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Data struct {
		Scheme       string         `json:"scheme"`
		Group        string         `json:"group"`
		Jaccard      float64        `json:"jaccard"`
		Measure      string         `json:"measure"`
		Similarity   float64        `json:"similarity"`
		Hamming      int            `json:"hamming"`
		Identical    bool           `json:"identical"`
		Later        occurrenceJSON `json:"later"`
		Earlier      occurrenceJSON `json:"earlier"`
		First        firstJSON      `json:"first"`
		Occurrences  int            `json:"occurrences"`
		Authors      int            `json:"authors"`
		Estimated    bool           `json:"authorsEstimated"`
		Coverage     float64        `json:"coverage"`
		SameAuthor   bool           `json:"sameAuthor"`
		Repost       bool           `json:"repost"`
		TimeAdjusted bool           `json:"timeAdjusted"`
		Truncated    bool           `json:"truncated"`
	} `json:"data"`
}

type occurrenceJSON struct {
	Source   string `json:"source"`
	Post     string `json:"post"`
	Author   string `json:"author"`
	Lang     string `json:"lang"`
	Time     Time   `json:"time"`
	Sentence int    `json:"sentence"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Text     string `json:"text"`
	TextCut  bool   `json:"textCut"`

	Converted bool `json:"converted"`

	Group string         `json:"group"`
	Link  string         `json:"link"`
	Meta  jsontext.Value `json:"meta"`
}

func (o *occurrenceJSON) occurrence() Occurrence {
	return Occurrence{
		Source: o.Source, Post: o.Post, Author: o.Author, Lang: o.Lang, Time: o.Time,
		Sentence: o.Sentence, Start: o.Start, End: o.End, Text: o.Text, TextCut: o.TextCut,
		Converted: o.Converted,
	}
}

// later is o with what only the later side has.
func (o *occurrenceJSON) later() (Occurrence, error) {
	group, err := ParseHash(o.Group)
	if err != nil {
		return Occurrence{}, fmt.Errorf("later: group: %w", err)
	}
	l := o.occurrence()
	l.Group, l.Link, l.Meta = group, o.Link, string(o.Meta)
	return l, nil
}

type firstJSON struct {
	Source string `json:"source"`
	Post   string `json:"post"`
	Author string `json:"author"`
	Time   Time   `json:"time"`
}

// IsReuse reports whether b begins as AppendEvent begins what it writes. It is false for other events, and for matches
// that somebody else has written.
func IsReuse(b []byte) bool { return bytes.HasPrefix(b, []byte(head)) }

// DecodeEvent reads what AppendEvent writes.
func DecodeEvent(b []byte) (Match, error) {
	var e eventJSON
	if err := json.Unmarshal(b, &e); err != nil {
		return Match{}, fmt.Errorf("event: %w", err)
	}
	if e.Type != ReuseType {
		return Match{}, fmt.Errorf("event: type %q, want %q", e.Type, ReuseType)
	}
	id, err := ParseHash(e.ID)
	if err != nil {
		return Match{}, fmt.Errorf("event: id: %w", err)
	}
	group, err := ParseHash(e.Data.Group)
	if err != nil {
		return Match{}, fmt.Errorf("event %s: group: %w", id, err)
	}
	d := &e.Data
	later, err := d.Later.later()
	if err != nil {
		return Match{}, fmt.Errorf("event %s: %w", id, err)
	}
	return Match{
		ID: id, Scheme: d.Scheme, Group: group, Jaccard: d.Jaccard, Measure: d.Measure,
		Similarity: d.Similarity, Hamming: d.Hamming, Identical: d.Identical,
		Later: later, Earlier: d.Earlier.occurrence(), First: First(d.First),
		Occurrences: d.Occurrences, Authors: d.Authors, AuthorsEstimated: d.Estimated, Coverage: d.Coverage,
		SameAuthor: d.SameAuthor, Repost: d.Repost, TimeAdjusted: d.TimeAdjusted, Truncated: d.Truncated,
	}, nil
}

// MarshalText writes t as RFC 3339.
func (t Time) MarshalText() ([]byte, error) { return t.Time().AppendFormat(nil, timeLayout), nil }

// UnmarshalText reads what ParseTime reads.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := ParseTime(string(b))
	*t = v
	return err
}
