package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/inspect"
	"refrain/internal/terminal"
	"refrain/text"
)

func (m *Main) inspect() *cobra.Command {
	var in inputFlags
	var minTokens int
	cmd := &cobra.Command{
		Use:   "inspect [FILE|-]",
		Short: "Say what is in a file, and how to read posts from it",
		Long: "Look at the first 1,000 records of a file, or at the first megabyte of stdin: say what it was recognised as and\n" +
			"which fields it has, show its first three posts as the detector sees them, and end with the command to start with.\n" +
			"What --preset, --map and so on say is taken as it is; only what they leave open is guessed.",
		Example: "  refrain inspect export.csv\n" +
			"  refrain inspect result.json\n" +
			"  zcat posts.gz | refrain inspect -\n" +
			"  refrain inspect --map text=title+body,id=link posts.jsonl",
		Args: atMost(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := inspection{main: m, in: &in, path: "-", minTokens: minTokens}
			if len(args) > 0 {
				i.path = args[0]
			}
			return i.run(cmd.Context())
		},
	}
	in.add(cmd.Flags())
	addMinTokens(cmd.Flags(), &minTokens)
	return cmd
}

// inspection is one run of inspect.
type inspection struct {
	main      *Main
	in        *inputFlags
	path      string
	minTokens int
	stdin     []byte // the beginning of it, which is read more than once
}

// maxStdin is what of stdin is looked at.
const maxStdin = 1 << 20

func (i *inspection) run(ctx context.Context) (err error) {
	if err := i.in.check(); err != nil {
		return err
	}
	out := &remembering{Writer: i.main.Stdout}
	i.main = &Main{Stdin: i.main.Stdin, Stdout: out, Stderr: i.main.Stderr}
	if i.path == "-" {
		if i.stdin, err = io.ReadAll(io.LimitReader(i.main.Stdin, maxStdin)); err != nil {
			return err
		}
	}
	cfg := i.config()
	if err := i.in.flagged(i.in.File(&cfg)); err != nil {
		return err
	}
	report, err := inspect.File(ctx, i.config, i.in.Config)
	if err != nil {
		return err
	}
	i.fields(report)
	i.adopt(report)
	if err := i.posts(ctx, report); err != nil {
		return err
	}
	i.start(report)
	return out.failed
}

// remembering keeps the first error of writing, so that not every line has to ask for it.
type remembering struct {
	io.Writer
	failed error
}

func (r *remembering) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	if r.failed == nil {
		r.failed = err
	}
	return n, err
}

// config is how the file is opened, without a mapping.
func (i *inspection) config() file.Config {
	return file.Config{
		Path: i.path, Stdin: bytes.NewReader(i.stdin), Format: i.in.format, RecordsAt: i.in.records, Encoding: i.in.encoding,
		SourceName: i.in.source, BatchPosts: i.in.batch,
	}
}

// fields says what was recognised, and which fields there are.
func (i *inspection) fields(r *inspect.Report) {
	const shown = 40
	w := i.main.Stdout
	fmt.Fprintf(w, "%s: %s; %d %s looked at\n\n", i.path, cmp.Or(r.Recognised, formatWords[r.Format]), len(r.Records),
		terminal.Noun(len(r.Records), "record"))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for n, f := range r.Fields {
		if n == shown {
			fmt.Fprintf(table, "  and %d more\n", len(r.Fields)-shown)
			break
		}
		fmt.Fprintf(table, "  %s\t%d %%\t%s\t%s\n", terminal.Clean(f.Path), 100*f.Count/max(1, len(r.Records)), f.Kind,
			terminal.Clean(inspect.Short(f.Example, 60)))
	}
	_ = table.Flush() // run asks whether all was written
}

var formatWords = map[string]string{
	"jsonl": "JSON lines", "json": "JSON", "text": "text, a post a line", "csv": "a table", "xml": "XML",
}

// adopt takes the flags that were found where the command line has none.
func (i *inspection) adopt(r *inspect.Report) {
	i.in.Config, i.in.records, i.in.encoding, i.in.format = r.Posts, r.RecordsAt, r.Encoding, cmp.Or(r.As, i.in.format)
}

// start says what only the reader can know, and with which flags to start.
func (i *inspection) start(r *inspect.Report) {
	w := i.main.Stdout
	fmt.Fprintln(w)
	for _, note := range r.Notes {
		fmt.Fprintln(w, terminal.Clean(note))
	}
	if slices.Contains(r.Missing, feed.FieldCreatedAt) && r.Format != "text" {
		fmt.Fprintln(w, "No field looks like a time: without one posts count as written in the order of the file.")
	}
	fmt.Fprintf(w, "To start with:\n\n  refrain detect%s %s\n", i.flags(), quoteForShell(i.path))
}

// flags are those with which the file is read, as a shell takes them.
func (i *inspection) flags() (flags string) {
	in := i.in
	for _, f := range []struct{ name, value string }{
		{"preset", in.Preset}, {"records", in.records}, {"map", in.Map}, {"format", in.format}, {"encoding", in.encoding},
		{"tz", in.Timezone}, {"time-format", in.TimeFormat}, {"source", in.source},
	} {
		if f.value != "" {
			flags += " --" + f.name + " " + quoteForShell(f.value)
		}
	}
	if in.HTML {
		flags += " --html"
	}
	return flags
}

// missing says which field no post can be without, and nothing looks like.
func (i *inspection) missing(r *inspect.Report) {
	for _, field := range []feed.Field{feed.FieldID, feed.FieldText} {
		if slices.Contains(r.Missing, field) && r.Format != "text" && len(r.Records) > 0 {
			fmt.Fprintf(i.main.Stdout, "No field looks like the %s of a post, which every post needs: name one, as --map %s=NAME.\n",
				field, field)
		}
	}
}

func quoteForShell(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+%@") == "" {
		return s
	}
	if terminal.Clean(s) != s { // it would move the cursor; bash and zsh read it so
		quoted := strconv.QuoteToASCII(s)
		return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// posts shows the first posts, and why others of the first batch are none.
func (i *inspection) posts(ctx context.Context, r *inspect.Report) error {
	fmt.Fprintln(i.main.Stdout)
	i.missing(r)
	cfg := i.config()
	if err := i.in.flagged(i.in.File(&cfg)); err != nil {
		return err
	}
	src, err := file.Open(cfg)
	if err != nil {
		return err
	}
	defer src.Close()
	const shown = 3
	complaints, refused := i.main.complaints(), 0
	defer func() { _ = complaints.end() }() // without letters nothing can fail
	for left, first := shown, true; left > 0; first = false {
		b, err := src.Next(ctx)
		if first && err == nil {
			i.skipped(&b)
		}
		if left == shown && err == nil {
			complaints.tell(&b)
			refused += len(b.Rejected)
		}
		for n := range b.Posts[:min(left, len(b.Posts))] {
			i.post(&b.Posts[n])
		}
		left -= min(left, len(b.Posts))
		switch {
		case left == shown && (errors.Is(err, io.EOF) || refused >= inspect.Records): // those behind it will be no other
			return errNothingMaps
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

var errNothingMaps = errors.New("no record looked at is a post as these flags have it; stderr says why, and --map id=uri,text=body names fields")

// skipped says how much of a batch is meant to be no post.
func (i *inspection) skipped(b *ingest.Batch) {
	if b.Skipped > 0 {
		fmt.Fprintf(i.main.Stdout, "Of the first %d records %d are left out, as the preset says.\n",
			len(b.Posts)+len(b.Rejected)+b.Skipped, b.Skipped)
	}
}

// post shows a post as the detector sees it.
func (i *inspection) post(p *feed.Post) {
	w := i.main.Stdout
	fmt.Fprintf(w, "%s", terminal.Clean(p.ID))
	if p.Author != "" {
		fmt.Fprintf(w, " by %s", terminal.Clean(p.Author))
	}
	if p.Timed {
		fmt.Fprintf(w, " at %v", p.Time)
	}
	fmt.Fprintln(w)
	var splitter text.Splitter
	pieces, _ := splitter.Pieces(p.Text)
	for _, s := range pieces {
		note := ""
		if !text.Compared(s.Tokens, i.minTokens) {
			note = "too short: "
		}
		fmt.Fprintf(w, "  %s%s\n", note, terminal.Clean(inspect.Short(p.Text[s.Start:s.End], 150)))
	}
}
