package backfill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/backfill"
	"refrain/feed"
	"refrain/internal/e2e"
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
		other.Window.Span, other.KeepFirst, other.Timezone = 7*24*time.Hour, true, "UTC"
		refused(t, other, "other settings: span 24h there and 168h here, tz none there and UTC here, keep none there and first here", "give another folder")
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
	cfg := config(t, archive(t, diary(t, 20, 300)), func(c *backfill.Config) { c.Slice, c.SortBytes = 24*time.Hour, 100_000 })
	stopInSlices(t, cfg)
	runs, _ := filepath.Glob(filepath.Join(cfg.Out, "work", "part-1-of-1", "runs", "*.run"))
	for _, path := range runs {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		mustWrite(t, path, b)
	}
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

// TestTables: an archive in CSV comes out as CSV, byte for byte: byte order mark and header of its first file, quotes and the lines
// within them, line ends of any kind.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	const header = "date,body,extra,no"
	rows := []string{
		"1970-01-05T00:00:00Z,\"the very same, words go\nand stand here \"\"again\"\"\",x,1",
		"1970-01-20T00:00:00Z,\"the very same words go\nand stand here again\",y,2",
		"1970-01-21T00:00:00Z,something else was said that day,,3",
		"1970-01-01T00:00:00Z,once,,4",
	}
	mustWrite(t, filepath.Join(dir, "a.csv"), []byte("\ufeff"+header+"\r\n"+rows[2]+"\r\n"+rows[0]+"\r\n"))
	mustWrite(t, filepath.Join(dir, "b.csv"), []byte(header+"\n"+rows[1]+"\n"+rows[3]))
	fields, err := feed.ParseFields("id=no,text=body,created_at=date")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, []string{filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")}, func(c *backfill.Config) {
		c.Fields, c.KeepFirst, c.Window.Span = fields, true, 30*24*time.Hour
	})
	mustRun(t, cfg)
	const crlf = "\r\n"
	marked := "\ufeff" + header
	want := marked + crlf + rows[3] + "\n" + rows[0] + crlf + marked + crlf + rows[2] + crlf
	if got := string(contents(t, cfg.Out, "posts-*.csv")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestCoverageIsCounted: a post of three sentences that all repeat goes with a coverage of 1, though the shares of a third that
// their events show do not add up to it; and with a token more, of a sentence that is too short, it stays.
func TestCoverageIsCounted(t *testing.T) {
	var posts []feed.Post
	for n := range 17 {
		text := ""
		for i := range n + 1 {
			text += fmt.Sprintf("alpha%d beta%d gamma%d delta%d.\n", i, i, i, i)
		}
		posts = append(posts, feed.Post{ID: fmt.Sprint(n), Time: feed.Time(2*n) * 1000, Text: text},
			feed.Post{ID: fmt.Sprint(n, "again"), Time: feed.Time(2*n+1) * 1000, Text: text},
			feed.Post{ID: fmt.Sprint(n, "more"), Time: feed.Time(2*n+1) * 1000, Text: text + "more"})
	}
	cfg := config(t, archive(t, asJSON(t, posts)), func(c *backfill.Config) { c.KeepFirst = true })
	m := mustRun(t, cfg)
	kept := string(contents(t, cfg.Out, "posts-*.jsonl"))
	if m.Kept != 34 || strings.Contains(kept, "again") || strings.Count(kept, `more","source`) != 17 {
		t.Errorf("%d are kept, want 34", m.Kept)
	}
}

// TestNoEvents: the posts that are kept are the same bytes without events.
func TestNoEvents(t *testing.T) {
	for _, columns := range []int{1, 3} {
		files := archive(t, diary(t, 10, 100))
		with := config(t, files, func(c *backfill.Config) { c.KeepFirst, c.Columns = true, columns })
		without := with
		without.Out, without.NoEvents = filepath.Join(t.TempDir(), "out"), true
		want, got := mustRun(t, with), mustRun(t, without)
		checkManifest(t, without, got)
		if a, b := contents(t, with.Out, "posts-*"), contents(t, without.Out, "posts-*"); want.Events == 0 || string(a) != string(b) {
			t.Errorf("%d bytes are kept, want the same %d", len(b), len(a))
		}
	}
}

// TestPlantedLinks: a link in the work folder is refused, and nothing behind it is written, emptied or removed.
func TestPlantedLinks(t *testing.T) {
	files := archive(t, diary(t, 3, 50))
	for _, place := range []string{"work", "work/part-1-of-1", "work/part-1-of-1/temporary", "work/part-1-of-1/finished.jsonl",
		"work/part-1-of-1/lock", "work/ids", "work/lock", "work/settings.json"} {
		cfg := config(t, files)
		elsewhere := t.TempDir()
		for _, name := range []string{"part-1-of-1/temporary/a", "runs/a", "a"} {
			path := filepath.Join(elsewhere, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			mustWrite(t, path, []byte("theirs"))
		}
		link := filepath.Join(cfg.Out, place)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		target := elsewhere
		if filepath.Ext(place) != "" || filepath.Base(place) == "lock" {
			target = filepath.Join(elsewhere, "a")
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		before := tree(t, elsewhere)
		refused(t, cfg, "is a symbolic link")
		if after := tree(t, elsewhere); after != before {
			t.Errorf("%s: behind the link there is %s, want %s", place, after, before)
		}
	}
}

// tree is what a folder has, with contents.
func tree(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		content := []byte("/")
		if err == nil && !e.IsDir() {
			content, err = os.ReadFile(path)
		}
		all += fmt.Sprintf("%s %s\n", path, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDamagedAfterwards: of a folder that is complete, what has lost a file is done again, and nothing else.
func TestDamagedAfterwards(t *testing.T) {
	files := archive(t, append(shuffled(diary(t, 12, 100), 1, 1), []byte("no post\n"))...)
	for _, lost := range []string{"events-19700105T000000Z.jsonl", "posts-19700104T000000Z.jsonl", "dead-letters.jsonl"} {
		cfg := config(t, files, func(c *backfill.Config) { c.Slice, c.KeepFirst = 24*time.Hour, true })
		before := mustRun(t, cfg)
		stamps := map[string]time.Time{}
		for _, o := range before.Slices {
			for _, f := range o.Files {
				stamps[f.Name] = modified(t, cfg, f.Name)
			}
		}
		mustWrite(t, filepath.Join(cfg.Out, lost), []byte("{"))
		after := mustRun(t, cfg)
		checkManifest(t, cfg, after)
		before.DeadLetters, after.DeadLetters = nil, nil // they have the time of reading
		if mustJSON(t, after) != mustJSON(t, before) {
			t.Errorf("%s: another manifest", lost)
		}
		_, slice, _ := strings.Cut(strings.TrimSuffix(lost, ".jsonl"), "-")
		for name, at := range stamps {
			if again := !modified(t, cfg, name).Equal(at); again != strings.Contains(name, slice) {
				t.Errorf("%s is damaged: %s was written again: %t", lost, name, again)
			}
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func modified(t *testing.T, cfg backfill.Config, name string) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(cfg.Out, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// TestManyPasses: a slice of more passes than files may be open finds the same, and leaves nothing.
func TestManyPasses(t *testing.T) {
	posts := diary(t, 4, 100)
	cfg := config(t, archive(t, posts), func(c *backfill.Config) { c.Columns, c.SortBytes = 100, 1 })
	defer limitFiles(t, 64)()
	checkManifest(t, cfg, mustRun(t, cfg))
	compareIDs(t, events(t, cfg.Out), sortedIDs(e2e.Detect(t, posts, e2e.DefaultSettings(), nil)))
}

// limitFiles bounds the files that may be open, more than are now, until restore is called.
func limitFiles(t *testing.T, more uint64) (restore func()) {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limited := before
	limited.Cur = uint64(len(open)) + more
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limited); err != nil {
		t.Fatal(err)
	}
	return func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }
}

// TestManyRuns: of an archive of more runs than files may be open the runs are merged first.
func TestManyRuns(t *testing.T) {
	posts := diary(t, 20, 300)
	cfg := config(t, archive(t, shuffled(posts, 1, 1)...), func(c *backfill.Config) { c.Slice, c.SortBytes = 24*time.Hour, 8<<10 })
	defer limitFiles(t, 80)()
	checkManifest(t, cfg, mustRun(t, cfg))
	compareIDs(t, events(t, cfg.Out), sortedIDs(e2e.Detect(t, posts, e2e.DefaultSettings(), nil)))
}

// TestEstimate: what it takes is said when the first posts are sorted, and when all are; slices that take much longer than others
// would are said with those.
func TestEstimate(t *testing.T) {
	skipShort(t)
	posts := shuffled(diary(t, 40, 2000), 1, 1)
	files := archive(t, posts...)
	var got []backfill.Estimate
	cfg := config(t, files, func(c *backfill.Config) {
		c.Slice, c.Window.Span, c.SortBytes, c.Batch, c.KeepFirst = time.Hour, 48*time.Hour, 4_000_000, 10, true
		c.Estimate = func(e backfill.Estimate) { got = append(got, e) }
	})
	mustRun(t, cfg)
	if len(got) != 2 || got[0].Exact || !got[1].Exact || got[1].Slices != 40 {
		t.Fatalf("%+v", got)
	}
	for _, e := range got {
		if e.BetterSlice < cfg.Window.Span || e.Slices < 20 || e.Free <= 0 {
			t.Errorf("%+v", e)
		}
		size := float64(len(posts[0]))
		if run, kept := float64(e.RunBytes)/size, float64(e.PostBytes)/size; run < .1 || run > 1 || kept < .8 || kept > 1.2 {
			t.Errorf("runs of %.2f, posts of %.2f of the archive", run, kept)
		}
	}
	if e := got[0].RunBytes - got[1].RunBytes; max(e, -e) > got[1].RunBytes/4 {
		t.Errorf("estimated %d bytes, in the end %d", got[0].RunBytes, got[1].RunBytes)
	}
	cfg = config(t, files, func(c *backfill.Config) { c.Estimate = cfg.Estimate })
	got = nil
	mustRun(t, cfg)
	if len(got) != 1 || got[0].BetterSlice != 0 {
		t.Errorf("slices of a week: %+v", got)
	}
}

// TestRaceForTheFolder: of processes that begin on one folder at once each does the work, or finds it done, or is told that another
// is at it; also when one of them just ends.
func TestRaceForTheFolder(t *testing.T) {
	files := archive(t, diary(t, 2, 3))
	for range 30 {
		cfg := config(t, files, func(c *backfill.Config) { c.Workers = 1 })
		ended := make(chan error, 8)
		for range cap(ended) {
			go func() {
				_, err := backfill.Run(context.Background(), cfg)
				ended <- err
			}()
		}
		for range cap(ended) {
			if err := <-ended; err != nil && !strings.Contains(err.Error(), "another process is at work on these slices") {
				t.Error(err)
			}
		}
		checkManifest(t, cfg, mustRun(t, cfg))
	}
}
