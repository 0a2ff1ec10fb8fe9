package detection_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// progress is a file with a line for each comparison of a test that takes hours and went well. Whoever runs the test again, of the
// same build, goes on where it ended. It is in the folder that REFRAIN_PROGRESS names; without one there is none.
type progress struct {
	file *os.File
	done map[string]bool
}

// openProgress goes on with the file of a test, or begins it anew for another build. At the end of the test a table is beside it.
func openProgress(t *testing.T, name string) *progress {
	t.Helper()
	dir := os.Getenv("REFRAIN_PROGRESS")
	if dir == "" {
		return &progress{}
	}
	path := filepath.Join(dir, name+".tsv")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	p := &progress{file, map[string]bool{}}
	build := thisBuild(t)
	lines := bufio.NewScanner(file)
	if lines.Scan(); lines.Text() != build {
		must(t, file.Truncate(0))
		p.append(t, build+"\n")
	}
	for lines.Scan() {
		p.done[strings.Split(lines.Text(), "\t")[0]] = true
	}
	t.Cleanup(func() { p.close(t, strings.TrimSuffix(path, ".tsv")+".md") })
	return p
}

// thisBuild is a hash of the program that is running.
func thisBuild(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	program, err := os.Open(path)
	must(t, err)
	defer program.Close()
	h := sha256.New()
	_, err = io.Copy(h, program)
	must(t, err)
	return fmt.Sprintf("build %x", h.Sum(nil))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// append writes at the end, wherever reading has come to.
func (p *progress) append(t *testing.T, line string) {
	t.Helper()
	_, err := p.file.Seek(0, io.SeekEnd)
	must(t, err)
	_, err = p.file.WriteString(line)
	must(t, err)
}

// run runs a comparison as a subtest, unless it went well before, and remembers it if it does now.
func (p *progress) run(t *testing.T, name string, compare func(*testing.T) (events int)) {
	t.Helper()
	full := t.Name() + "/" + name
	if p.done[full] {
		return
	}
	t.Run(name, func(t *testing.T) {
		begin := time.Now()
		events := compare(t)
		took := time.Since(begin)
		t.Logf("%d events, %v", events, took.Round(time.Millisecond))
		if p.file != nil && !t.Failed() {
			p.append(t, fmt.Sprintf("%s\t%d\t%.1f\n", full, events, took.Seconds()))
		}
	})
}

// close writes the table: what was compared, and the events that each last part of its name gave, all of them equal.
func (p *progress) close(t *testing.T, path string) {
	t.Helper()
	_, err := p.file.Seek(0, io.SeekStart)
	must(t, err)
	lines := bufio.NewScanner(p.file)
	lines.Scan() // the build
	table := table{cells: map[string]map[string]string{}}
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		table.add(fields[0], fields[1])
	}
	must(t, p.file.Close())
	must(t, os.WriteFile(path, []byte(table.markdown()), 0o644))
}

// table is in the order in which rows and columns first came.
type table struct {
	rows, columns []string
	cells         map[string]map[string]string
}

func (c *table) add(name, value string) {
	i := strings.LastIndex(name, "/")
	_, row, _ := strings.Cut(name[:i], "/") // without the test
	column := name[i+1:]
	if c.cells[row] == nil {
		c.rows, c.cells[row] = append(c.rows, row), map[string]string{}
	}
	if !slices.Contains(c.columns, column) {
		c.columns = append(c.columns, column)
	}
	c.cells[row][column] = value
}

func (c *table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| events found and equal | %s |\n|---|%s\n", strings.Join(c.columns, " | "), strings.Repeat("---|", len(c.columns)))
	for _, row := range c.rows {
		fmt.Fprintf(&b, "| %s |", row)
		for _, column := range c.columns {
			fmt.Fprintf(&b, " %s |", c.cells[row][column])
		}
		b.WriteString("\n")
	}
	return b.String()
}
