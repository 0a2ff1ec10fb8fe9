package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/internal/cli"
	"refrain/internal/terminal"
	"refrain/lab/report"
)

// tableGroup is a command whose subcommands each measure one table of a document: bench and eval.
type tableGroup struct {
	main     *Main
	markers  report.Markers // also the command's name
	document string         // that its tables stand in
	all      []table
	apart    bool // all measures each by a process of its own: what one leaves behind would be measured with the next

	data, write string
	quick, json bool
}

// table is one that can be measured.
type table struct {
	command *cobra.Command // without its RunE
	measure func(ctx context.Context, r *tableRun) (*report.Report, error)
	missing func() error // why it cannot be measured here; nil: it can
	narrow  []string     // its flags with which a part of the table is measured

	document string // that it stands in; "": that of the group
}

// tableRun is what every table is told.
type tableRun struct {
	args    []string
	data    string // folder of the data set
	write   string // the document; "" without
	quick   bool
	command string // as others may type it
	step    func(format string, args ...any)
	status  func(line string)
}

// names are those of the tables, and all.
func (g *tableGroup) names() (list []string) {
	for _, t := range g.all {
		list = append(list, t.command.Name())
	}
	return append(list, "all")
}

// command adds the flags and the tables to the command.
func (g *tableGroup) command(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Usage("there is no table %q: want %s", args[0], strings.Join(g.names(), ", "))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	f := cmd.PersistentFlags()
	f.StringVar(&g.data, "data", "", "folder of the data set (default $REFRAIN_DATA, or ../shared/data)")
	f.BoolVar(&g.quick, "quick", false, "small sizes: to see that it works")
	f.StringVar(&g.write, "write", "", fmt.Sprintf("Markdown `file` in which to replace the table between <!-- "+
		"%s:NAME --> and <!-- /%s -->", g.markers, g.markers))
	f.BoolVar(&g.json, "json", false, "print JSON, with all that was measured")
	for _, t := range g.all {
		t.command.RunE = func(cmd *cobra.Command, args []string) error { return g.run(cmd, &t, args) }
		t.command.Long = t.command.Short + "."
		t.command.Example = fmt.Sprintf("  refrain-lab %s %s --quick\n  refrain-lab %s %s --write %s", g.markers,
			t.command.Name(), g.markers, t.command.Name(), cmp.Or(t.document, g.document))
		cmd.AddCommand(t.command)
	}
	cmd.AddCommand(g.allTables())
	return cmd
}

// run measures one table and prints or writes it.
func (g *tableGroup) run(cmd *cobra.Command, t *table, args []string) error {
	name := t.command.Name()
	if err := g.writable(t); err != nil { // better known before the minutes that it takes
		return err
	}
	status := terminal.NewStatus(g.main.Stderr, terminal.Detect(g.main.Stderr))
	r := g.tableRun(t.command, args)
	r.status = status.Set
	r.step = func(format string, args ...any) {
		status.Clear()
		fmt.Fprintf(g.main.Stderr, format+"\n", args...)
	}
	begin := time.Now()
	made, err := t.measure(cmd.Context(), r)
	status.Clear()
	if err != nil {
		return fmt.Errorf("%s %s: %w", g.markers, name, err)
	}
	fmt.Fprintf(g.main.Stderr, "%s: %v\n", name, time.Since(begin).Round(100*time.Millisecond))
	if cmd.Context().Err() != nil { // a part of a table is shown, and replaces no whole one
		g.write = ""
		return errors.Join(g.print(made), fmt.Errorf("%s %s: interrupted", g.markers, name))
	}
	return g.print(made)
}

// writable says why the table cannot be written, or should not: what took long to measure is not lost to a part of it.
func (g *tableGroup) writable(t *table) error {
	if g.write == "" {
		return nil
	}
	name := t.command.Name()
	if err := g.markers.CanWrite(g.write, name); err != nil {
		return err
	}
	for _, flag := range append([]string{"quick"}, t.narrow...) {
		if f := t.command.Flag(flag); f.Value.String() == f.DefValue {
			continue
		}
		more, err := g.markers.HasWithout(g.write, name, "--"+flag)
		if err != nil {
			return err
		}
		if more {
			return cli.Usage("--write %s: the table %s there was measured without --%s: do that again, or leave --write "+
				"out to see what you asked for", g.write, name, flag)
		}
	}
	return nil
}

func (g *tableGroup) tableRun(cmd *cobra.Command, args []string) *tableRun {
	return &tableRun{args: args, data: dataFolder(g.data), write: g.write, quick: g.quick, command: typed(cmd, args)}
}

func dataFolder(flag string) string {
	for _, folder := range []string{flag, os.Getenv("REFRAIN_DATA")} {
		if folder != "" {
			return folder
		}
	}
	return filepath.Join("..", "shared", "data")
}

// typed is what was typed, as others may type it: without the folders of this machine.
func typed(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	visit := func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		switch f.Name {
		case "data", "models", "refrain", "write", "json", "svg", "beside", "binary", "sanitizer":
		case "quick":
			if f.Value.String() == "true" {
				words = append(words, "--quick")
			}
		default:
			words = append(words, "--"+f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	for _, arg := range args {
		words = append(words, filepath.Base(arg))
	}
	return strings.Join(words, " ")
}

func (g *tableGroup) print(r *report.Report) error {
	if g.write != "" {
		if err := g.markers.Write(g.write, r.Name, r.Markdown()); err != nil {
			return err
		}
	}
	if g.json {
		return json.NewEncoder(g.main.Stdout).Encode(r)
	}
	if g.write != "" {
		return nil
	}
	_, err := fmt.Fprint(g.main.Stdout, g.markers.Wrap(r.Name, r.Markdown()))
	return err
}

// allTables is the command that measures one table after the other.
func (g *tableGroup) allTables() *cobra.Command {
	var names []string
	for _, t := range g.together() {
		names = append(names, t.command.Name())
	}
	long := "Measure all tables that can be measured here: "
	if g.apart {
		long = "Measure all tables that can be measured here, each by a process of its own: "
	}
	return &cobra.Command{
		Use:     "all",
		Short:   "All tables, one after the other",
		Long:    long + strings.Join(names, ", ") + ".\nWhat cannot is named, and the others go on.",
		Example: fmt.Sprintf("  refrain-lab %s all --quick\n  refrain-lab %s all --write %s", g.markers, g.markers, g.document),
		Args:    cli.AtMost(0, "none"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return g.runAll(cmd) },
	}
}

// together are the tables of the group's own document: another's are measured elsewhere.
func (g *tableGroup) together() (all []table) {
	for _, t := range g.all {
		if t.document == "" {
			all = append(all, t)
		}
	}
	return all
}

func (g *tableGroup) runAll(cmd *cobra.Command) error {
	var errs []error
	begin := time.Now()
	together := g.together()
	for i, t := range together {
		name := t.command.Name()
		fmt.Fprintf(g.main.Stderr, "%d of %d: %s\n", i+1, len(together), name)
		if t.missing != nil {
			if err := t.missing(); err != nil {
				fmt.Fprintf(g.main.Stderr, "left out: %s: %v\n", name, err)
				continue
			}
		}
		err := g.runOne(cmd, &t)
		if cmd.Context().Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	fmt.Fprintf(g.main.Stderr, "all: %v\n", time.Since(begin).Round(time.Second))
	return errors.Join(errs...)
}

func (g *tableGroup) runOne(cmd *cobra.Command, t *table) error {
	if !g.apart {
		return g.run(cmd, t, nil)
	}
	if err := g.child(cmd, t.command.Name()); err != nil {
		return fmt.Errorf("%s %s: %w", g.markers, t.command.Name(), err)
	}
	return nil
}

// child measures a table by a process of its own, which has said what is wrong when it fails.
func (g *tableGroup) child(cmd *cobra.Command, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{string(g.markers), name, "--data", dataFolder(g.data)}
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "data" {
			args = append(args, fmt.Sprintf("--%s=%s", f.Name, f.Value))
		}
	})
	p := exec.CommandContext(cmd.Context(), self, args...)
	p.Stdout, p.Stderr = g.main.Stdout, g.main.Stderr
	p.Cancel = func() error { return p.Process.Signal(syscall.SIGTERM) }
	p.WaitDelay = 30 * time.Second
	return p.Run()
}
