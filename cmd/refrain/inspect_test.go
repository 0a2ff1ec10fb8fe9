package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"refrain/internal/terminal"
)

// TestInspect: of files of each kind it says what they are, with which flags to start, and shows posts.
func TestInspect(t *testing.T) {
	presets := filepath.Join("..", "..", "ingest", "mapping", "testdata")
	for _, c := range []struct {
		args, stdin string
		want        []string
	}{
		{"--format csv -", "tweet_id;Tweet text;date\n9;The ferry leaves at noon. Hi.;2018-10-10T20:19:24Z\n", []string{
			"-: a table with semicolons between its columns; 1 record looked at", "tweet_id    100 %  string  \"9\"",
			"9 at 2018-10-10T20:19:24Z\n  The ferry leaves at noon.\n  too short: Hi.\n",
			`refrain detect --map 'id=tweet_id,text="Tweet text",created_at=date' --format csv -`}},
		{"-", `{"name":"x","posts":{"list":[{"uri":"u1","body":"One"},{"uri":"u2","body":"Two"}]}}`, []string{
			"refrain detect --records posts.list --map id=uri,text=body -", "u1\n", "No field looks like a time"}},
		{"-", `{"id":"1","text":"as it should be"}`, []string{"-: JSON lines; 1 record", "1\n  as it should be", "refrain detect -\n"}},
		{"-", "id,author,text\n1,ann,\"as it, should be\"\n2,ben,so\n", []string{"-: a table; 2 records", "1 by ann\n  as it, should be",
			"refrain detect --format csv -\n"}},
		{"-", "id;author;text\n1;ann;as it should be\n2;ben;so\n", []string{"-: a table with semicolons between its columns; 2 records",
			"1 by ann\n  as it should be", "refrain detect --format csv -\n"}},
		{"-", "it was, so he said\nand so it was\n", []string{"-: JSON lines; 2 records", "No field looks like the id"}},
		{"-", `{"a":1}`, []string{"No field looks like the id", "No field looks like the text"}},
		{"--map text=a -", `{"a":"b","id":"1"}`, []string{"refrain detect --map text=a -", "1\n"}},
		{presets + "/twitter-v1.jsonl", "", []string{"--preset twitter-v1 "}},
		{presets + "/twitter-v2.jsonl", "", []string{"--preset twitter-v2 ", "by noor_holak"}},
		{presets + "/twitter-archive.js", "", []string{"--preset twitter-archive "}},
		{presets + "/reddit.jsonl", "", []string{"--preset reddit "}},
		{presets + "/mastodon-outbox.json", "", []string{"--preset mastodon-outbox ", "are left out, as the preset says"}},
		{presets + "/mastodon.json", "", []string{"--preset mastodon "}},
		{presets + "/telegram.json", "", []string{"--preset telegram "}},
		{presets + "/telegram-all.json", "", []string{"--preset telegram-all "}},
		{presets + "/bluesky-jetstream.jsonl", "", []string{"--preset bluesky-jetstream "}},
		{presets + "/rss.xml", "", []string{"--preset rss ", "The ferry & the light"}},
		{presets + "/rss-atom.xml", "", []string{"--preset rss "}},
	} {
		var out, stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(c.stdin), Stdout: &out, Stderr: &stderr}
		m.Run(t.Context(), append([]string{"inspect"}, strings.Fields(c.args)...))
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s%s", c.args, want, &out, &stderr)
			}
		}
	}
}

// TestPresetsToEvents: each platform's export goes from file to events by one command.
func TestPresetsToEvents(t *testing.T) {
	path := filepath.Join("..", "..", "ingest", "mapping", "testdata", "mastodon.json")
	var out, stderr bytes.Buffer
	m := Main{Stdout: &out, Stderr: &stderr}
	if status := m.Run(t.Context(), []string{"detect", "--preset", "mastodon", path}); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if strings.Count(out.String(), `"converted":true`) != 2 || !strings.Contains(out.String(), `"end":44,`) {
		t.Errorf("events\n%s\n%s", &out, &stderr)
	}
	out.Reset()
	stderr.Reset()
	path = filepath.Join("..", "..", "ingest", "mapping", "testdata", "telegram.json")
	m.Run(t.Context(), []string{"detect", "--preset", "telegram", path})
	for _, want := range []string{"1 post in ", "1 rejected", "1 other record left out, as the preset says"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in %s", want, &stderr)
		}
	}
}

const sentence = "The ferry to Roshaven leaves at noon from the old pier"

// TestInspectEndsWithACommand: whatever the fields, times and bytes of an export are, the last line is a command that
// reads all of its posts. The name of the file is left out of it.
func TestInspectEndsWithACommand(t *testing.T) {
	utf16 := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, r := range s {
			b = append(b, byte(r), byte(r>>8))
		}
		return string(b)
	}
	for _, c := range []struct{ name, content, flags, want, says string }{
		{"a.csv", "Tweet Id,Author,Created At,Tweet Text\n17,ann,10/22/2014 14:00," + sentence + "\n", "",
			`--map 'id="Tweet Id",text="Tweet Text",author=Author,created_at="Created At"' --tz UTC --time-format '%m/%d/%Y %H:%M'`,
			"put --tz ZONE for --tz UTC"},
		{"b.csv", "Seite;Post-ID;Datum;Beitrag\nann;1_9;01.11.2015 00:00;" + sentence + "\n", "",
			`--map id=Post-ID,text=Beitrag,author=Seite,created_at=Datum --tz UTC --time-format '%d.%m.%Y %H:%M'`, ""},
		{"b2.csv", "Post-ID;Datum;Beitrag\n1_9;01.11.2015 00:00;" + sentence + "\n",
			"--map id=Post-ID,created_at=Datum --tz Europe/Berlin",
			`--map id=Post-ID,created_at=Datum,text=Beitrag --tz Europe/Berlin --time-format '%d.%m.%Y %H:%M'`, ""},
		{"c.csv", "ID,Créé le,Auteur,Texte\n1,2/3/2015 7:05 PM,ann," + sentence + "\n", "",
			`--map 'id=ID,text=Texte,author=Auteur,created_at="Créé le"' --tz UTC --time-format '%m/%d/%Y %I:%M %p'`,
			"if it is not %m/%d/%Y %I:%M %p, it is --time-format '%d/%m/%Y %I:%M %p'"},
		{"c2.csv", "ID,Fecha,Usuario,Mensaje\n1,2/3/2015 7:05,ann," + sentence + "\n2,13/3/2015 7:05,ann," + sentence + "\n", "",
			`--map id=ID,text=Mensaje,author=Usuario,created_at=Fecha --tz UTC --time-format '%d/%m/%Y %H:%M'`, ""},
		{"d.csv", "URL,Message,User Name,Post Created\nhttps://e.example/1," + sentence + ",ann,2015-11-01 00:00:00 EST\n", "",
			`--map 'id=URL,text=Message,author="User Name",created_at="Post Created"' --tz America/New_York ` +
				`--time-format '%Y-%m-%d %H:%M:%S %Z'`, ""},
		{"e.csv", "Nr;Verfasser;Datum;Zeit;Text\n1;J\xfcrgen;22.10.2014;14:00;" + sentence + "\n", "",
			"--map id=Nr,text=Text,author=Verfasser,created_at=Datum+Zeit --encoding windows-1252 --tz UTC --time-format '%d.%m.%Y %H:%M'",
			"1 by Jürgen at 2014-10-22T14:00:00Z"},
		{"f.csv", "id,text,user_name,user_screen_name\n1," + sentence + " &amp; back,Ann,ann\n", "",
			"--map author=user_screen_name --html", "No field looks like a time"},
		{"g.csv", "id,author.id,author.name,author.username,text\n1,7,Ann,ann," + sentence + "\n", "",
			"--map author=author.username", "1 by ann"},
		{"h.csv", "id,title,body,created\n1,Ferries," + sentence + ",1446336000.0\n", "", "--map text=title+body,created_at=created", "Ferries"},
		{"i.csv", "Tweet Id,Text\n5.24922E+17," + sentence + "\n", "", `--map 'id="Tweet Id",text=Text'`, "Ids as 5.24922E+17"},
		{"j.txt", utf16("id\tauthor\ttext\n1\tann\t" + sentence + "\n"), "", "--format csv", "a table with tabs"},
		{"k.txt", sentence + "\twith tabs\n" + sentence + "\talso\n", "", "", ""},
		{"l.jsonl", `{"id":"1","edit_history_tweet_ids":["1"],"text":"` + sentence + `","author_id":"7","author":{"username":"ann","name":"Ann"}}`,
			"", "--preset twitter-v2 --records .", "1 by ann"},
		{"l2.jsonl", `{"id":"1","edit_history_tweet_ids":["1"],"text":"` + sentence + `"}`, "--preset twitter-v2",
			"--preset twitter-v2 --records .", ""},
		{"m.json", `{"statuses":[` + tweet("1") + "," + tweet("2") + `],"search_metadata":{"count":2}}`, "",
			"--preset twitter-v1 --records statuses", "1 by ann"},
		{"n.js", `window.YTD.tweet.part0 = [{"id_str":"1","full_text":"` + sentence + `","display_text_range":["0","9"]}]`, "",
			"--preset twitter-archive", ""},
		{"o.json", `{"kind":"Listing","data":{"children":[{"kind":"t1","data":{"id":"1","author":"ann","created_utc":1,"body":"` + sentence +
			`"}},{"kind":"t1","data":{"id":"2","author":"ann","created_utc":1,"body":"x"}}]}}`, "",
			"--preset reddit --records data.children.data", "1 by ann"},
		{"p.js", `window.YTD.note_tweet.part0 = [{"noteTweet":{"noteTweetId":"1","createdAt":"2023-07-01T10:00:01.000Z",` +
			`"lifecycle":{"name":"Normal"},"core":{"text":"` + sentence + `"}}}]`, "",
			"--map id=noteTweet.noteTweetId,text=noteTweet.core.text,created_at=noteTweet.createdAt", ""},
		{"q.json", `{"feed":[` + skeet("1") + "," + skeet("2") + "]}", "",
			"--records feed --map id=post.uri,text=post.record.text,author=post.author.handle,created_at=post.record.createdAt", "1 by ann"},
		{"r.json", `{"name":"x","type":"public_channel","messages":[{"id":2,"type":"message","date":"2014-10-22T14:08:33",` +
			`"from":"ann","from_id":7,"text":"` + sentence + `"}]}`, "", "--preset telegram --tz UTC", "put --tz ZONE"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, stderr bytes.Buffer
		m := Main{Stdout: &out, Stderr: &stderr}
		status := m.Run(t.Context(), append(append([]string{"inspect"}, strings.Fields(c.flags)...), path))
		want := strings.Join(strings.Fields("\n\n  refrain detect "+c.want+" "+path), " ")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got := strings.TrimSpace(lines[len(lines)-1]); status != 0 || got != want || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: status %d, want %s and %q, got\n%s%s", c.name, status, want, c.says, &out, &stderr)
			continue
		}
		stderr.Reset()
		if status := m.Run(t.Context(), shellFields(want)[1:]); status != 0 || !strings.Contains(stderr.String(), " 0 rejected") {
			t.Errorf("%s: %s: status %d\n%s", c.name, want, status, &stderr)
		}
	}
}

func tweet(id string) string {
	return `{"id_str":"` + id + `","text":"` + sentence + `","created_at":"Wed Oct 22 14:00:56 +0000 2014","user":{"id_str":"7","screen_name":"ann"}}`
}

func skeet(id string) string {
	return `{"post":{"uri":"` + id + `","author":{"did":"did:plc:x","handle":"ann"},"record":{"createdAt":"2014-10-22T14:07:56.123Z",` +
		`"text":"` + sentence + `"}}}`
}

// shellFields are the words of a command, of which some stand in single quotes.
func shellFields(command string) (words []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// TestInspectNothing: what no flags make posts of is said, and is an error.
func TestInspectNothing(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.jsonl", "", "a.jsonl: empty"},
		{"a.json", "[]", "a.json: empty"},
		{"a.csv", "id,text\n", "a.csv: empty"},
		{"a.xml", `<?xml version="1.0"?><urlset><url/></urlset>`, "no item of RSS and no entry of Atom"},
		{"a.html", "<!DOCTYPE html>\n<html><body>x</body></html>", "Machine-readable JSON"},
		{"a.json", `<?xml version="1.0"?><html xmlns="x">`, "an HTML page"},
		{"a.json", `{"id":{"0":1,"1":2},"text":{"0":"a","1":"b"}}`, `orient="columns"`},
		{"a.json", `{"0":{"id":1,"text":"a"},"1":{"id":2,"text":"b"}}`, `orient="index"`},
		{"a.json", `{"columns":["id","text"],"index":[0],"data":[[1,"a"]]}`, `orient="split"`},
		{"a.json", `{"@context":"https://www.w3.org/ns/activitystreams","id":"x","orderedItems":["https://a.example/1"]}`,
			"no record looked at is a post"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, stderr bytes.Buffer
		m := Main{Stdout: &out, Stderr: &stderr}
		status := m.Run(t.Context(), []string{"inspect", path})
		if status == 0 || !strings.Contains(stderr.String(), c.want) || strings.Contains(out.String(), "refrain detect") {
			t.Errorf("%s %s: status %d, want %q in\n%s%s", c.name, c.content, status, c.want, &out, &stderr)
		}
	}
}

// TestInspectGivesUp: of a file without posts, however long, each reason is told ten times and once more, and not all is read.
func TestInspectGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat("it was so\n", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	m := Main{Stdout: io.Discard, Stderr: &stderr}
	status := m.Run(t.Context(), []string{"inspect", path})
	lines := strings.Count(stderr.String(), "\n")
	if status != 1 || lines != 12 || strings.Contains(stderr.String(), ":9000") || strings.Contains(stderr.String(), "and 99,") {
		t.Errorf("status %d, %d lines, want 1 and 12:\n%.2000s", status, lines, &stderr)
	}
}

// TestInspectMixedEncodings: a file whose lines are of two encodings is not converted as if it were of one.
func TestInspectMixedEncodings(t *testing.T) {
	var out bytes.Buffer
	m := Main{Stdin: strings.NewReader("id;text\n1;am Rückweg\n2;am R\xfcckweg\n"), Stdout: &out, Stderr: io.Discard}
	m.Run(t.Context(), []string{"inspect", "--format", "csv", "-"})
	if !strings.Contains(out.String(), "1 of 2 records are not UTF-8") || strings.Contains(out.String(), "detect --encoding") {
		t.Errorf("got\n%s", &out)
	}
}

// TestInspectFullDisk: what cannot be written is a failure.
func TestInspectFullDisk(t *testing.T) {
	for _, room := range []int{0, 60} {
		var stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(`{"id":"1","text":"The ferry leaves at noon"}`), Stdout: &full{room}, Stderr: &stderr}
		if status := m.Run(t.Context(), []string{"inspect", "-"}); status != exitFailure || !strings.Contains(stderr.String(), syscall.ENOSPC.Error()) {
			t.Errorf("room for %d bytes: status %d, and on stderr: %s", room, status, &stderr)
		}
	}
}

// TestQuoteForShell has bash read what is to be typed. What would move the cursor is not shown as it is.
func TestQuoteForShell(t *testing.T) {
	for _, s := range []string{"plain/a.jsonl", "it's here", "text=\x1b[2J\"'\\", "\u009b2J é 日本", "a\nb"} {
		quoted := quoteForShell(s)
		if terminal.Clean(quoted) != quoted {
			t.Errorf("%q is shown as %q", s, quoted)
		}
		out, err := exec.Command("bash", "-c", "LC_ALL=C.UTF-8; printf %s "+quoted).Output()
		if err != nil || string(out) != s {
			t.Errorf("%s is read as %q, %v; want %q", quoted, out, err, s)
		}
	}
}
