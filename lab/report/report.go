// Package report makes what was measured into Markdown: a title, tables, notes and a plot, put between the markers of a
// document.
package report

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"refrain/internal/memory"
	"refrain/internal/units"
)

// Report is a table that was measured.
type Report struct {
	Name    string `json:"name"`  // of the marker in the document
	Title   string `json:"title"` // what is measured, a sentence
	Machine string `json:"machine"`
	Go      string `json:"go"`
	Date    string `json:"date"`
	Command string `json:"command"`
	Data    string `json:"data"`

	Plot    string   `json:"plot,omitempty"` // the name of its file, beside the document
	Grids   []Grid   `json:"grids"`
	Notes   []string `json:"notes,omitempty"`
	Figures any      `json:"figures"` // all that was measured, unrounded
}

// Grid is one Markdown table.
type Grid struct {
	Caption string     `json:"caption,omitempty"`
	Head    []string   `json:"head"`
	Rows    [][]string `json:"rows"`
}

// New begins a report: measured now, on this machine, by the command that the reader may type.
func New(name, title, data, command string) *Report {
	return &Report{
		Name: name, Title: title, Machine: Machine(), Go: runtime.Version(), Date: time.Now().UTC().Format(time.DateOnly),
		Command: command, Data: data,
	}
}

// Add appends a row; numbers come as they are to be read.
func (g *Grid) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	g.Rows = append(g.Rows, row)
}

// Note appends a line below the tables.
func (r *Report) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// commandIs stands before the command.
const commandIs = "Command: `"

// Markdown is the report as it stands between the markers.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Title)
	fmt.Fprintf(&b, "Machine: %s, %s. Date: %s. %s%s`.\nData: %s.\n", r.Machine, r.Go, r.Date, commandIs, r.Command, r.Data)
	if r.Plot != "" {
		fmt.Fprintf(&b, "\n![%s](%s)\n", strings.TrimSuffix(r.Title, "."), r.Plot)
	}
	for _, g := range r.Grids {
		g.write(&b)
	}
	for i, note := range r.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s\n", note)
	}
	return b.String()
}

func (g *Grid) write(b *strings.Builder) {
	if g.Caption != "" {
		fmt.Fprintf(b, "\n%s\n", g.Caption)
	}
	fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(g.Head, " | "), strings.Repeat("---|", len(g.Head)))
	for _, row := range g.Rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
}

// Machine says what this machine is.
func Machine() string {
	name := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d CPUs of %s, %s, %s/%s", runtime.NumCPU(), name, units.Bytes(memory.Total()),
		runtime.GOOS, runtime.GOARCH)
}
