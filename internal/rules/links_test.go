package rules

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinks follows every link between pages: the file is there, and so is the heading.
func TestLinks(t *testing.T) {
	const root = "../.."
	pages := mustPages(t, os.DirFS(root))
	for _, broken := range brokenLinks(pages, func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil
	}) {
		t.Error(broken)
	}
	if len(pages) < 20 {
		t.Errorf("there are %d pages: the links were hardly tried", len(pages))
	}
}

func TestBrokenLinks(t *testing.T) {
	pages := map[string]string{
		"README.md": "# Front\n[a](docs/a.md) [b](docs/a.md#two-words) [c](#front) [d](https://example.org/x.md) ![e](docs/e.png)\n" +
			"```\n[in code](gone.md)\n```\n`[in code](gone.md)` [two](docs/a.md#two-words-1)",
		"docs/a.md": "# A\n## Two `words`!\n## Two words\n<a id=\"three\"></a>\n```\n# no heading\n```\n" +
			"[up](../README.md) [three](#three) [no heading](#no-heading) [gone](gone.md) [outside](../../x.md)",
	}
	there := map[string]bool{"README.md": true, "docs/a.md": true}
	want := []string{
		"README.md: docs/e.png: no such file",
		"docs/a.md: #no-heading: docs/a.md has no such heading",
		"docs/a.md: gone.md: no such file",
		"docs/a.md: ../../x.md: no such file",
	}
	got := brokenLinks(pages, func(path string) bool { return there[path] })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPages: every page of docs says at once for whom it is, and the index has it.
func TestPages(t *testing.T) {
	docs := os.DirFS("../../docs")
	pages := mustPages(t, docs)
	for page, text := range pages {
		if strings.HasPrefix(page, "design/") {
			continue
		}
		if lines := strings.SplitN(text, "\n", 4); len(lines) < 4 || !strings.HasPrefix(lines[2], "For who") {
			t.Errorf("%s: its third line does not begin with \"For whoever …\"", page)
		}
		if page != "README.md" && !strings.Contains(pages["README.md"], "]("+page+")") {
			t.Errorf("%s is not in docs/README.md", page)
		}
	}
}

// TestGlossary wants every word once, and the files where the things live.
func TestGlossary(t *testing.T) {
	page := mustPages(t, os.DirFS("../.."))["docs/ARCHITECTURE.md"]
	_, rest, _ := strings.Cut(page, "\n## Glossary\n")
	glossary, _, _ := strings.Cut(rest, "\n## ")
	seen := map[string]bool{}
	for _, line := range regexp.MustCompile("(?m)^\\| ([^|]+) \\|.*\\| (`[^|]+`) \\|$").FindAllStringSubmatch(glossary, -1) {
		for word := range strings.SplitSeq(line[1], ", ") {
			if seen[word] {
				t.Errorf("%q stands there twice", word)
			}
			seen[word] = true
		}
		for file := range strings.SplitSeq(line[2], ", ") {
			if _, err := os.Stat(filepath.Join("../..", strings.Trim(file, "`"))); err != nil {
				t.Errorf("%s: %v", line[1], err)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("the glossary has %d words: it was hardly read", len(seen))
	}
}

// mustPages are the texts of all pages, by their paths.
func mustPages(t *testing.T, root fs.FS) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := fs.ReadFile(root, path)
		pages[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inline  = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)">`)
)

// brokenLinks returns a sentence for every link of a page to a file that is not there, or to a heading that its page
// has not.
func brokenLinks(pages map[string]string, exists func(path string) bool) (broken []string) {
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if why := follow(pages, page, m[1], exists); why != "" {
				broken = append(broken, fmt.Sprintf("%s: %s: %s", page, m[1], why))
			}
		}
	}
	return broken
}

// follow says why a link of a page leads nowhere, or nothing.
func follow(pages map[string]string, page, to string, exists func(path string) bool) string {
	file, fragment, _ := strings.Cut(to, "#")
	path := page
	if file != "" {
		path = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
	}
	if !exists(path) {
		return "no such file"
	}
	text, isPage := pages[path]
	if fragment == "" || !isPage || anchors(text)[fragment] {
		return ""
	}
	return path + " has no such heading"
}

// anchors are the names that headings get where pages are shown, and those that a page gives by itself.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	text = fence.ReplaceAllString(text, "")
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name, unique := slug(m[1]), ""
		for n := 1; names[name+unique]; n++ {
			unique = fmt.Sprintf("-%d", n)
		}
		names[name+unique] = true
	}
	for _, m := range anchor.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return names
}

// slug is the name of a heading: small letters and digits, hyphens for spaces.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
