package demo

import "unicode"

// operations are drawn from here: the more often one is listed, the more often it happens.
var operations = []Operation{
	Repost, Repost, Repost, Repost, Repost, Repost, Copy, Copy, Copy, Edit, Edit, Edit, Edit,
	Truncate, Truncate, Quote, Quote, Merge, Typo, Typo, Hashtag, Hashtag,
}

// reuse makes a body out of an earlier post.
func (g *Generator) reuse(o *record) (body, Truth) {
	operation := operations[g.rng.IntN(len(operations))]
	b, origins := o.body.clone(), allOf(o)
	switch operation {
	case Repost:
		b.before = "RT @" + o.author + ": "
	case Edit:
		g.edit(&b)
	case Truncate:
		g.truncate(&b)
		origins = origins[:len(b.lines)]
	case Quote:
		return g.quote(o)
	case Merge:
		return g.merge(o)
	case Typo:
		g.misspell(&b)
	case Hashtag:
		b.tag(g.rng)
	}
	return b, Truth{operation, origins}
}

// allOf says that every sentence comes from the same place of o.
func allOf(o *record) []Origin {
	origins := make([]Origin, len(o.body.lines))
	for i := range origins {
		origins[i] = Origin{Sentence: i, Post: o.id, From: i}
	}
	return origins
}

func (g *Generator) edit(b *body) {
	l, w := b.someWord(g.rng)
	pool := b.language.pool
	b.replace(l, w, pool[g.rng.IntN(len(pool))])
}

// truncate cuts b off within a sentence, behind its first word at the earliest.
func (g *Generator) truncate(b *body) {
	b.lines = b.lines[:1+g.rng.IntN(len(b.lines))]
	last := &b.lines[len(b.lines)-1]
	last.words = last.words[:1+g.rng.IntN(len(last.words))]
	last.end = "…"
}

func (g *Generator) quote(o *record) (body, Truth) {
	from := g.rng.IntN(len(o.body.lines))
	quoted := o.body.clone().lines[from]
	if quoted.open == "" {
		quoted.open, quoted.end = "\n“", quoted.end+"”"
	}
	comment := o.body.language.line(g.rng, "{comment}")
	b := body{language: o.body.language, lines: []line{comment, quoted}}
	return b, Truth{Quote, []Origin{{1, o.id, from}}}
}

// merge puts a sentence of o before one of another post of the same language; without one, it copies.
func (g *Generator) merge(o *record) (body, Truth) {
	other := g.pick()
	for tries := 0; other.body.language != o.body.language || other == o; tries++ {
		if tries == 50 {
			return o.body.clone(), Truth{Copy, allOf(o)}
		}
		other = g.pick()
	}
	first, second := g.rng.IntN(len(o.body.lines)), g.rng.IntN(len(other.body.lines))
	b := body{language: o.body.language}
	b.lines = append(b.lines, o.body.clone().lines[first], other.body.clone().lines[second])
	return b, Truth{Merge, []Origin{{0, o.id, first}, {1, other.id, second}}}
}

// misspell swaps two letters of a word, or doubles its only one.
func (g *Generator) misspell(b *body) {
	l, w := b.someWord(g.rng)
	letters := []rune(b.lines[l].words[w])
	if len(letters) == 1 {
		b.replace(l, w, string(letters)+string(letters))
		return
	}
	i := g.rng.IntN(len(letters) - 1)
	letters[i], letters[i+1] = letters[i+1], letters[i]
	b.replace(l, w, string(letters))
}

func isWord(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) {
			return true
		}
	}
	return false
}
