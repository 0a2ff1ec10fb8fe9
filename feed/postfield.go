package feed

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What a post may hold at most, in bytes. Longer ones are rejected, never cut: a cut text would be another text.
const (
	MaxText = 1 << 20
	MaxName = 1024 // ids, sources, authors and languages
)

// replacement stands for what is no Unicode, after the standard's advice.
const replacement = "\uFFFD"

// Set gives a field of p its value, after the checks that every format shares: sizes, the form of a time, and
// Unicode. The note says what was changed, and is empty if nothing was. An error names the field.
//
// Invalid UTF-8 becomes U+FFFD, except in ids and sources, where two names could become one.
func (p *Post) Set(f Field, value string) (note string, err error) { return ownNames.Set(p, f, value) }

// Set gives a field of p its value as Post.Set does; times are read as f has them (WithTimes).
func (f *Fields) Set(p *Post, field Field, value string) (note string, err error) {
	if !utf8.ValidString(value) {
		if field == FieldID || field == FieldSource {
			return "", errNotUnicode(field)
		}
		value, note = strings.ToValidUTF8(value, replacement), noteReplaced(field, "invalid UTF-8")
	}
	err = f.orOwn().set(p, field, value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	return note, nil
}

// set stores a value that is valid UTF-8.
func (f *Fields) set(p *Post, field Field, value string) error {
	if err := checkSize(field, value); err != nil {
		return err
	}
	switch field {
	case FieldID:
		p.ID = value
	case FieldSource:
		p.Source = value
	case FieldAuthor:
		p.Author = value
	case FieldLang:
		p.Lang = value
	case FieldText:
		p.Text = value
		if f.html && f.exprs[FieldText].isPlain() && !f.isCombined(f.exprs[FieldText][0][0]) { // else its parts are converted
			p.Text, p.Converted = plainText(value)
		}
	case FieldCreatedAt:
		return f.setTime(p, value)
	}
	return nil
}

func checkSize(field Field, value string) error {
	limit := MaxName
	if field == FieldText {
		limit = MaxText
	}
	if len(value) > limit {
		return fmt.Errorf("%d bytes, and the limit is %d", len(value), limit)
	}
	return nil
}

// setTime takes the empty value for an absent one, as tables and careless exports write it.
func (f *Fields) setTime(p *Post, value string) (err error) {
	if value == "" {
		return nil
	}
	p.Time, err = f.times.parse(value)
	p.Timed = err == nil
	return err
}

// Complete reports what p lacks: a post without an id, or without the field text, is none. An empty text is
// one: a picture without words has no sentences, and is no mistake.
func (p *Post) Complete(hasText bool) error {
	var errs []string
	if p.ID == "" {
		errs = append(errs, "id: missing or empty")
	}
	if !hasText {
		errs = append(errs, "text: missing")
	}
	if errs == nil {
		return nil
	}
	return errors.New(strings.Join(errs, "; "))
}

// Check holds a post that no decoder has made to the rules of those that are read from JSON, and reports all that is
// wrong: what Set and Complete say, a Time outside the years 1970 to 2100, a Meta that is no JSON object of one line, a
// Link that is no http or https address, and either of more than MaxMeta or MaxLink bytes. It changes only what Set does,
// and its note says what.
func (p *Post) Check() (note string, err error) {
	var notes []string
	var errs []error
	values := [fieldCount]string{
		FieldID: p.ID, FieldSource: p.Source, FieldAuthor: p.Author, FieldLang: p.Lang, FieldText: p.Text,
	}
	for f, value := range values {
		note, err := p.Set(Field(f), value)
		if note != "" {
			notes = append(notes, note)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	_, errTime := inRange(int64(p.Time))
	err = errors.Join(p.Complete(true), errors.Join(errs...), at(FieldCreatedAt.String(), errTime),
		at("meta", checkMeta(p.Meta)), at("link", checkLink(p.Link)))
	return JoinNotes(notes...), err
}

// at is err with the field it is of, nil if there is none.
func at(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

func errNotUnicode(f Field) error {
	return fmt.Errorf("%s: not valid Unicode, and replacing it could make two names one", f)
}

func noteReplaced(f Field, what string) string {
	return fmt.Sprintf("%s: %s replaced by U+FFFD", f, what)
}
