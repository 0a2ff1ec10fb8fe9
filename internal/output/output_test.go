package output_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"refrain/feed"
	"refrain/internal/output"
	"refrain/text"
)

// match is an event of one text, at an hour.
func match(group byte, author, sentence string, hour int) feed.Match {
	at := feed.Time(hour * 3_600_000)
	return feed.Match{
		ID: feed.Hash{group, byte(hour)}, Scheme: "near", Group: feed.Hash{group}, Jaccard: 0.8, Occurrences: hour + 1, Authors: 2,
		Later:   feed.Occurrence{Post: "p" + author, Author: author, Lang: "en-GB", Time: at, Text: sentence},
		Earlier: feed.Occurrence{Post: "e", Author: "first", Text: "one two three four five"},
		First:   feed.First{Post: "e", Author: "first"},
	}
}

// printed is what a configuration makes of events.
func printed(t *testing.T, cfg output.Config, matches ...feed.Match) (string, int) {
	t.Helper()
	var to bytes.Buffer
	cfg.To, cfg.Measure = &to, text.Jaccard.At(text.DefaultThreshold)
	o := output.New(cfg)
	for i := range matches {
		if err := o.Write([]feed.Match{matches[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	return to.String(), o.Written
}

// table reads what was printed for a spreadsheet, by the names of its columns.
func table(t *testing.T, printed string, comma rune) (list []map[string]string) {
	t.Helper()
	r := csv.NewReader(strings.NewReader(printed))
	r.Comma = comma
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = record[i]
		}
		list = append(list, row)
	}
	return list
}

// TestSheets: a text of several lines with quotes, separators and a formula comes out whole, and as no formula.
func TestSheets(t *testing.T) {
	const odd = "=1+1\n\"a\", b;\tc"
	for format, comma := range map[string]rune{"csv": ',', "tsv": '\t'} {
		out, _ := printed(t, output.Config{Format: format}, match(1, "@ann", odd, 1), match(2, "bob", "x", 2))
		rows := table(t, out, comma)
		if len(rows) != 2 {
			t.Fatalf("%s: %d rows", format, len(rows))
		}
		first := rows[0]
		if first["text"] != "'"+odd || first["author"] != "'@ann" {
			t.Errorf("%s: %q", format, first)
		}
		if first["group"] != (feed.Hash{1}).String() || first["similarity"] != "0.800" || first["occurrences"] != "2" ||
			first["time"] != "1970-01-01T01:00:00Z" || first["firstAuthor"] != "first" || first["sameAuthor"] != "false" {
			t.Errorf("%s: %q", format, first)
		}
	}
}

// TestTop: by repeats, each with its group; texts like one above are left out; every format has the same rows.
func TestTop(t *testing.T) {
	events := []feed.Match{
		match(1, "a", "x", 1), match(2, "a", "y", 2), match(2, "b", "y", 3), match(3, "a", "z", 1),
	}
	for i := range events {
		events[i].Earlier.Text = map[byte]string{1: "quite another text", 2: "one two three four five", 3: "five four three two one"}[events[i].Group[0]]
	}
	events[2].Authors, events[2].AuthorsEstimated = 40, true
	out, _ := printed(t, output.Config{Top: 5, Format: "csv"}, events...)
	rows := table(t, out, ',')
	if len(rows) != 2 || rows[0]["repeats"] != "2" || rows[0]["authors"] != "40" || rows[0]["authorsEstimated"] != "true" ||
		rows[0]["group"] != (feed.Hash{2}).String() || rows[1]["text"] != "quite another text" {
		t.Errorf("%q", rows)
	}
	out, _ = printed(t, output.Config{Top: 5, Format: "jsonl"}, events...)
	var first struct {
		Repeats, Authors int
		Group, Text      string
	}
	if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &first); err != nil || first.Repeats != 2 || first.Authors != 40 ||
		first.Group != (feed.Hash{2}).String() {
		t.Errorf("%+v, %v: %s", first, err, out)
	}
	out, _ = printed(t, output.Config{Top: 1}, events...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || !strings.Contains(lines[1], "~40") ||
		!strings.Contains(lines[1], "02000000 ") || !strings.HasSuffix(lines[1], "one two three four five") {
		t.Errorf("%q", lines)
	}
}

// TestGroup: the posts of one text, its first one before the others, by the beginning of its group.
func TestGroup(t *testing.T) {
	out, _ := printed(t, output.Config{Group: "01000000", Format: "tsv"}, match(1, "a", "x", 1), match(2, "b", "y", 2), match(1, "c", "z", 3))
	var authors []string
	for _, row := range table(t, out, '\t') {
		authors = append(authors, row["author"]+" "+row["text"])
	}
	if got := strings.Join(authors, "|"); got != "first one two three four five|a x|c z" {
		t.Error(got)
	}
}

// TestFilter: each leaves out what it says, and no more; what is written is counted.
func TestFilter(t *testing.T) {
	measure := text.Jaccard.At(text.DefaultThreshold)
	own := match(1, "a", "six seven eight nine ten", 1)
	own.SameAuthor = true
	other := match(1, "b", "six seven eight nine ten", 2)
	other.Authors, other.Later.Lang = 3, "de"
	for name, f := range map[string]struct {
		filter output.Filter
		want   string
	}{
		"none":            {output.Filter{}, "ab"},
		"other authors":   {output.Filter{OtherAuthors: true}, "b"},
		"authors":         {output.Filter{MinAuthors: 3}, "b"},
		"language":        {output.Filter{Languages: []string{"fr", "EN"}}, "a"},
		"no prefix":       {output.Filter{Languages: []string{"e", "d"}}, ""},
		"an author":       {output.Filter{ExcludeAuthors: map[string]struct{}{"a": {}}}, "b"},
		"a later text":    {output.Filter{ExcludeTexts: output.NewTexts([]string{"Ten nine EIGHT seven six!"}, measure)}, ""},
		"an earlier text": {output.Filter{ExcludeTexts: output.NewTexts([]string{"x", "zero one two three four five"}, measure)}, ""},
		"far texts":       {output.Filter{ExcludeTexts: output.NewTexts([]string{"one two three", "six seven"}, measure)}, "ab"},
	} {
		out, written := printed(t, output.Config{Format: "csv", Filter: f.filter}, own, other)
		got := ""
		for _, row := range table(t, out, ',') {
			got += row["author"]
		}
		if got != f.want || written != len(f.want) {
			t.Errorf("%s: %q, %d written, want %q", name, got, written, f.want)
		}
	}
}

// TestLines: JSON lines are the events as they are.
func TestLines(t *testing.T) {
	m := match(1, "a", "x", 1)
	out, _ := printed(t, output.Config{}, m)
	got, err := feed.DecodeEvent([]byte(strings.TrimSpace(out)))
	if err != nil || got.ID != m.ID || got.Later.Text != "x" {
		t.Errorf("%+v, %v", got, err)
	}
}
