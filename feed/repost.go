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
