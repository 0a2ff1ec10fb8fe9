package backfill_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/backfill"
	"refrain/feed"
	"refrain/internal/oracle"
	"refrain/text"
)

func sortedIDs(ids []feed.Hash) []feed.Hash { return oracle.Sorted(slices.Clone(ids)) }

// refused wants an error that says all of it.
func refused(t *testing.T, cfg backfill.Config, want ...string) {
	t.Helper()
	_, err := backfill.Run(context.Background(), cfg)
	for _, words := range want {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q in it", err, words)
		}
	}
}

// TestOthersFolder: a folder that holds what other settings have found, or of another archive, is left alone; whether it is
// complete or not.
func TestOthersFolder(t *testing.T) {
	for _, complete := range []bool{true, false} {
		files := archive(t, diary(t, 4, 50), diary(t, 2, 10))
		cfg := config(t, files, func(c *backfill.Config) { c.Slice = 24 * time.Hour })
		if !complete {
			cfg.Part, cfg.Parts = 1, 2
		}
		before := mustRun(t, cfg)
		if before.Complete != complete {
			t.Fatalf("complete: %t", before.Complete)
		}
		other := cfg
		other.Window.Span, other.KeepFirst = 7*24*time.Hour, true
		refused(t, other, "other settings: span 24h there and 168h here, keep none there and first here", "give another folder")
		other = cfg
		other.Files = files[:1]
		refused(t, other, "of another archive: 1 files were given, and it is of 2: posts-0.jsonl (")
		other.Files = []string{files[0], files[0]}
		refused(t, other, "posts-0.jsonl is none of its files, or has another content now")

		mustWrite(t, files[1], []byte(strings.Replace(string(diary(t, 2, 10)), "every", "never", 1)))
		refused(t, cfg, "posts-1.jsonl is none of its files, or has another content now")
		mustWrite(t, files[1], diary(t, 2, 10)) // a new file of the old content is the old one
		slices.Reverse(cfg.Files)
		if after := mustRun(t, cfg); after.Events != before.Events {
			t.Errorf("%d events, want %d", after.Events, before.Events)
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	path := func(name, content string) string {
		mustWrite(t, filepath.Join(dir, name), []byte(content))
		return filepath.Join(dir, name)
	}
	one := path("a.csv", "id,text\n1,a\n")
	two := path("b.csv", "id,text,lang\n1,a,en\n")
	posts := path("c.jsonl", `{"id":"1","text":"a"}`+"\n")
	keep := func(c *backfill.Config) { c.KeepFirst = true }
	for _, c := range []struct {
		files  []string
		change func(*backfill.Config)
		want   string
	}{
		{[]string{"-"}, nil, "-: stdin cannot be read again"},
		{[]string{dir}, nil, "a directory: name the files in it"},
		{[]string{dir + "/none"}, nil, "no such file"},
		{[]string{"/dev/null"}, nil, "not a file that a run that goes on can read again"},
		{[]string{path("d.txt", "x\n"), path("e.txt", "y\n")}, nil, "known by the numbers of their lines, which 2 files have in common"},
		{[]string{one, two}, keep, "b.csv:1: its columns are id,text,lang, and those of "},
		{[]string{one, posts}, keep, "c.jsonl is jsonl: --keep first"},
		{[]string{path("f.csv", "id,body\n1,a\n")}, nil, `f.csv: after line 1: header: no column "text" for the field text`},
		{[]string{path("g.jsonl", `{"id":"1","text":"a"}`+"\nno post\n")}, func(c *backfill.Config) { c.Strict = true }, "g.jsonl:2: want a JSON object"},
		{[]string{path("h.jsonl.gz", "x")}, nil, "no gz data"},
		{[]string{one}, func(c *backfill.Config) { c.Slice = time.Millisecond }, "slice 1ms: want whole seconds"},
		{[]string{one}, func(c *backfill.Config) { c.Part = 2 }, "slices 2/1"},
		{nil, nil, "no files"},
	} {
		cfg := config(t, c.files)
		if c.change != nil {
			c.change(&cfg)
		}
		refused(t, cfg, c.want)
	}
	other := config(t, []string{one}, func(c *backfill.Config) { c.Out = dir })
	refused(t, other, "is no backfill's, and not empty")
}

// TestBusy: two processes on the same slices would do everything twice.
func TestBusy(t *testing.T) {
	cfg := config(t, archive(t, diary(t, 2, 10)))
	inside := cfg
	inside.Note = nil
	asked := false
	cfg.Progress = func(backfill.Progress) {
		if !asked {
			asked = true
			refused(t, backfill.Config(inside), "another process is at work on these slices")
		}
	}
	inside.Progress = func(backfill.Progress) {}
	mustRun(t, cfg)
}

// TestDamagedRun: a run with a flipped bit is named, and not taken for posts; then the archive is read again.
func TestDamagedRun(t *testing.T) {
	cfg := config(t, archive(t, diary(t, 20, 300)), func(c *backfill.Config) { c.Slice = 24 * time.Hour })
	ctx, stop := context.WithCancel(t.Context())
	cfg.Progress = func(p backfill.Progress) {
		if !p.Gathering {
			stop()
		}
	}
	if _, err := backfill.Run(ctx, cfg); err == nil {
		t.Fatal("it was not interrupted")
	}
	runs, _ := filepath.Glob(filepath.Join(cfg.Out, "work", "part-1-of-1", "runs", "*.run"))
	for _, path := range runs {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		mustWrite(t, path, b)
	}
	cfg.Progress = func(backfill.Progress) {}
	refused(t, cfg, ".run: damaged: the same command reads the archive again")
	checkManifest(t, cfg, mustRun(t, cfg))
}

// TestDeadLetters: what is no post is there with file, line and reason, as detect says them.
func TestDeadLetters(t *testing.T) {
	cfg := config(t, archive(t, []byte(`{"id":"1","text":"a"}`+"\n"+`{"text":"a"}`+"\n"), []byte("nothing\n")))
	m := mustRun(t, cfg)
	letters := string(contents(t, cfg.Out, "dead-letters.jsonl"))
	for _, want := range []string{`posts-0.jsonl:2","reason":"id: missing or empty"`, `posts-1.jsonl:1","reason":"want a JSON object`} {
		if !strings.Contains(letters, want) {
			t.Errorf("got %s, want %q in it", letters, want)
		}
	}
	if m.Rejected != 2 || m.Posts != 1 || m.Untimed != 1 || m.DeadLetters.Lines != 2 {
		t.Errorf("%+v", m)
	}
}

// TestKeepFirst: a post goes when sentences that repeat earlier posts have enough of its words.
func TestKeepFirst(t *testing.T) {
	const repeated, other = "one two three four five", "six seven eight nine ten"
	texts := []string{
		repeated, // 0
		repeated + ". " + other,
		repeated + ". Too short", // 5 of 7 words
		repeated + "!",
		other,                            // said in 1
		"Good morning",                   // too short to be compared
		"Good morning",                   //
		"",                               // no words
		"eleven twelve thirteen forteen", // 8
	}
	var posts []feed.Post
	for i, s := range texts {
		posts = append(posts, feed.Post{ID: fmt.Sprint(i), Time: feed.Time(i) * 86400_000, Text: s})
	}
	posts = append(posts, posts[8])                                                            // delivered twice
	posts = append(posts, feed.Post{ID: "0", Time: 20 * 86400_000, Text: repeated + " again"}) // a version; it repeats 3
	for coverage, want := range map[string]string{"1": "0125678", "5/7": "015678", "1/2": "05678"} {
		share, err := text.ParseThreshold(coverage)
		if err != nil {
			t.Fatal(err)
		}
		cfg := config(t, archive(t, shuffled(asJSON(t, posts), 1, 1)...), func(c *backfill.Config) {
			c.Slice, c.Window.Span, c.KeepFirst, c.Coverage = 48*time.Hour, 30*24*time.Hour, true, share
		})
		mustRun(t, cfg)
		got := ""
		for line := range strings.Lines(string(contents(t, cfg.Out, "posts-*.jsonl"))) {
			p, _, err := feed.DecodePost([]byte(line), nil)
			if err != nil {
				t.Fatal(err)
			}
			got += p.ID
		}
		if got != want {
			t.Errorf("coverage %s: kept %s, want %s", coverage, got, want)
		}
	}
}

// TestTables: an archive in CSV comes out as CSV, with its header, its quotes and the lines within them.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	const header = "date,body,extra,no"
	rows := []string{
		"1970-01-05T00:00:00Z,\"the very same, words go\nand stand here \"\"again\"\"\",x,1",
		"1970-01-20T00:00:00Z,\"the very same words go\nand stand here again\",y,2",
		"1970-01-21T00:00:00Z,something else was said that day,,3",
		"1970-01-01T00:00:00Z,once,,4",
	}
	mustWrite(t, filepath.Join(dir, "a.csv"), []byte(header+"\r\n"+rows[2]+"\r\n"+rows[0]+"\r\n"))
	mustWrite(t, filepath.Join(dir, "b.csv"), []byte(header+"\n"+rows[1]+"\n"+rows[3]))
	fields, err := feed.ParseFields("id=no,text=body,created_at=date")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, []string{filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")}, func(c *backfill.Config) {
		c.Fields, c.KeepFirst, c.Window.Span = fields, true, 30*24*time.Hour
	})
	mustRun(t, cfg)
	want := header + "\n" + rows[3] + "\n" + rows[0] + "\n" + header + "\n" + rows[2] + "\n"
	if got := string(contents(t, cfg.Out, "posts-*.csv")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
