package feed

import (
	"fmt"
	"regexp"
	"strings"
)

// repostMark is how Twitter begins the text of a retweet.
var repostMark = regexp.MustCompile(`^RT @\w+: `)

// cutMark is how it ends what did not fit.
const cutMark = "…"

// WithAbsent is f for a feed that has one of these where a text, or a part of one, is gone: [deleted]. There is none then.
func (f *Fields) WithAbsent(texts []string) *Fields {
	absent := f.copy()
	absent.absent = texts
	return absent
}

// WithIDPrefix is f for a feed whose ids are made of several fields and begin with this, as at://.
func (f *Fields) WithIDPrefix(prefix string) *Fields {
	prefixed := f.copy()
	prefixed.idPrefix = prefix
	return prefixed
}

// WithReposted is f for a feed that has of a repost only its beginning, "RT @ann: The committee said …", and all of it
// elsewhere: the text is the mark and what spec, an expression of the mapping language, finds. A text that is not cut stays.
func (f *Fields) WithReposted(spec string) (*Fields, error) {
	reposted := f.copy()
	var err error
	if reposted.reposted, err = parseExpression(spec); err != nil {
		return nil, fmt.Errorf("%q: %w", spec, err)
	}
	return reposted, reposted.plant()
}

// whole completes the text of a repost that is cut. text is asked for the values of slots.
func (f *Fields) whole(p *Post, text func(Field, int) (string, bool, error)) error {
	mark := repostMark.FindString(p.Text)
	if mark == "" || !strings.HasSuffix(p.Text, cutMark) {
		return nil
	}
	original, _, _ := f.repost.value(text)
	if original == "" {
		return nil
	}
	p.Text = mark + original
	return at(FieldText.String(), checkSize(FieldText, p.Text))
}
