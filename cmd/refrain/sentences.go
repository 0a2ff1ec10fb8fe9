package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/ingest"
	"refrain/internal/explain"
	"refrain/text"
)

func (m *Main) sentences() *cobra.Command {
	var in inputFlags
	var model modelFlags
	var minTokens int
	cmd := &cobra.Command{
		Use:   "sentences [FILE|-]",
		Short: "Print the sentences of posts as the detector sees them",
		Long: "Print a JSON line for each sentence: where it stands, its normalised tokens in order, and whether it " +
			"is\nlong enough to be compared. With --model, --bits or --ones also its signature.",
		Example: "  refrain sentences posts.jsonl | head\n" +
			"  echo 'Good morning, Vietnam! RT this.' | refrain sentences --format text --min-tokens 2",
		Args: atMost(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := m.open(&in, args)
			if err != nil {
				return err
			}
			defer src.Close()
			p := sentencePrinter{minTokens: minTokens, out: bufio.NewWriter(m.Stdout)}
			if set := cmd.Flags().Changed; set("model") || set("bits") || set("ones") {
				if p.model, err = model.model(); err != nil {
					return err
				}
			}
			return errors.Join(m.eachPost(cmd.Context(), src, p.print), p.out.Flush())
		},
	}
	addMinTokens(cmd.Flags(), &minTokens)
	in.add(cmd.Flags())
	model.add(cmd.Flags())
	return cmd
}

// eachPost visits the posts of a source; what is no post is reported and skipped. That nothing else is there is
// an error.
func (m *Main) eachPost(ctx context.Context, src ingest.Source, visit func(*feed.Post) error) error {
	posts, rejected := 0, 0
	complaints := m.complaints()
	defer func() { _ = complaints.end() }() // without letters nothing can fail
	for {
		b, err := src.Next(ctx)
		complaints.tell(&b)
		posts, rejected = posts+len(b.Posts), rejected+len(b.Rejected)
		for i := range b.Posts {
			if err := visit(&b.Posts[i]); err != nil {
				return err
			}
		}
		b.Done(nil)
		switch {
		case errors.Is(err, io.EOF) && posts == 0 && rejected > 0:
			return complaints.noPosts()
		case ctx.Err() != nil:
			return errStopped
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

type sentencePrinter struct {
	minTokens int
	model     *hashcodes.Model
	splitter  text.Splitter
	signature hashcodes.Signature
	out       *bufio.Writer
}

// sentenceLine is the output format; its names are a contract.
type sentenceLine struct {
	Source    string    `json:"source"`
	Post      string    `json:"post"`
	Author    string    `json:"author"`
	Time      feed.Time `json:"time"`
	Sentence  int       `json:"sentence"`
	Start     int       `json:"start"`
	End       int       `json:"end"`
	Text      string    `json:"text"`
	Tokens    []string  `json:"tokens"`
	Compared  bool      `json:"compared"`
	Signature string    `json:"signature,omitempty"`
}

func (p *sentencePrinter) print(post *feed.Post) error {
	pieces, _ := p.splitter.Pieces(post.Text)
	for i, s := range pieces {
		line := sentenceLine{
			Source: post.Source, Post: post.ID, Author: post.Author, Time: post.Time, Sentence: i,
			Start: s.Start, End: s.End, Text: post.Text[s.Start:s.End],
			Tokens: explain.Tokens(s.Tokens), Compared: text.Compared(s.Tokens, p.minTokens),
		}
		if p.model != nil {
			line.Signature = p.sign(s.Tokens)
		}
		if err := writeJSONLine(p.out, line); err != nil {
			return err
		}
	}
	return nil
}

// sign is the signature in hex.
func (p *sentencePrinter) sign(tokens []text.Token) string {
	if p.signature == nil {
		p.signature = make(hashcodes.Signature, p.model.Words())
	}
	p.signature = p.model.Sign(p.signature, explain.IDs(tokens))
	return explain.Hex(p.signature)
}

// writeJSONLine writes v without escaping <, > and &.
func writeJSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
