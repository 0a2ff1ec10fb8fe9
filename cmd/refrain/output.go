package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"refrain/internal/output"
	"refrain/internal/smallfile"
	"refrain/text"
)

// outputFlags say what is shown of the events, and how.
type outputFlags struct {
	format, group                string
	top, minAuthors              int
	json, otherAuthors           bool
	languages                    []string
	excludeAuthors, excludeTexts string
}

func (f *outputFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.format, "output", "",
		"jsonl, csv, tsv or table; by default JSON lines, on a terminal two texts with what differs, and a table for --top and --group")
	to.BoolVar(&f.json, "json", false, "the same as --output jsonl")
	to.IntVar(&f.top, "top", 0, "print the N most reused texts instead of the events")
	to.StringVar(&f.group, "group", "", "print the posts of one text instead: its group, or the first 8 digits of it")
	to.BoolVar(&f.otherAuthors, "other-authors", false, "leave out what authors repeat of themselves")
	to.IntVar(&f.minAuthors, "min-authors", 0, "leave out texts of fewer authors, as far as known when the event is made")
	to.StringSliceVar(&f.languages, "lang", nil, "leave out posts that say no language or another: as in en,pt-BR")
	to.StringVar(&f.excludeAuthors, "exclude-author", "", "leave out what the authors in this `file` repeat, one a line")
	to.StringVar(&f.excludeTexts, "exclude-text", "", "leave out what is like a text in this `file`, one a line, by --measure and --threshold")
}

var groupDigits = regexp.MustCompile(`^[0-9a-f]{8,32}$`)

// check refuses what cannot be meant.
func (f *outputFlags) check() error {
	if f.json {
		if f.format != "" && f.format != "jsonl" {
			return usage("--json and --output %s: want one of them", f.format)
		}
		f.format = "jsonl"
	}
	switch {
	case f.format != "" && !slices.Contains(output.Formats, f.format):
		return usage("--output %q: want %s", f.format, strings.Join(output.Formats, ", "))
	case f.top < 0:
		return usage("--top %d: want 0 or more", f.top)
	case f.minAuthors < 0:
		return usage("--min-authors %d: want 0 or more", f.minAuthors)
	case f.group != "" && !groupDigits.MatchString(f.group):
		return usage("--group %q: want 8 to 32 of the digits 0-9 and a-f, as events have them in \"group\"", f.group)
	case f.group != "" && f.top > 0:
		return usage("--top and --group: want one of them")
	}
	return nil
}

// filter reads the lists.
func (f *outputFlags) filter(m text.Measure) (output.Filter, error) {
	filter := output.Filter{OtherAuthors: f.otherAuthors, MinAuthors: f.minAuthors, Languages: f.languages}
	if f.excludeAuthors != "" {
		authors, err := readList(f.excludeAuthors)
		if err != nil {
			return filter, err
		}
		filter.ExcludeAuthors = map[string]struct{}{}
		for _, author := range authors {
			filter.ExcludeAuthors[author] = struct{}{}
		}
	}
	if f.excludeTexts != "" {
		texts, err := readList(f.excludeTexts)
		if err != nil {
			return filter, err
		}
		filter.ExcludeTexts = output.NewTexts(texts, m)
	}
	return filter, nil
}

// maxList is the size of a list at most: some ten million authors.
const maxList = 256 << 20

// readList reads what stands in the lines of a file, without the spaces around it; empty lines are none.
func readList(path string) (list []string, err error) {
	data, err := smallfile.Read(path, maxList)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list, nil
}
