package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/plan"
)

// planFlags are a feed and a machine as people write them.
type planFlags struct {
	feed    plan.Feed
	machine plan.Machine

	repeats                    repeatFlags
	model                      modelFlags
	maxHold                    string
	memory, network, gpuMemory string
	json                       bool

	isArchive           bool
	archive             plan.Archive
	slice, within, keep string
}

func (m *Main) plan() *cobra.Command {
	f := planFlags{feed: plan.DefaultFeed(), machine: plan.DefaultMachine(), archive: plan.DefaultArchive()}
	cmd := &cobra.Command{
		Use:   "plan --posts-per-day N",
		Short: "Say how many machines a feed takes",
		Long: "Estimate the workers, memory, GPUs and latency that a feed takes, what limits, and what would change it. The\n" +
			"feed is taken to be one of short posts until the flags say otherwise. The estimate is arithmetic on measured\n" +
			"costs: docs/plan.md has the formulae, and how far they can be trusted. With --backfill: the hours, disk and machines\n" +
			"that an archive of such a feed takes.",
		Example: "  refrain plan --posts-per-day 1e8\n" +
			"  refrain plan --posts-per-day 5e8 --span 7d --threshold 0.7 --cores 32 --memory 256GB\n" +
			"  refrain plan --posts-per-day 1e9 --gpus 1 --gpu-memory 141GB --json\n" +
			"  refrain plan --backfill --posts 1e9 --posts-per-day 3e6 --span 7d --slice 30d --within 2h",
		Args: atMost(0, "none (give the feed by --posts-per-day)"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.parse(cmd.Flags()); err != nil {
				return err
			}
			if f.isArchive {
				return f.backfill(m.Stdout, cmd.Flags())
			}
			r, err := plan.Plan(f.feed, f.machine, plan.DefaultCosts())
			if err != nil {
				return byFlag(err, cmd.Flags())
			}
			if f.json {
				return f.printJSON(m.Stdout, &r)
			}
			return f.print(m.Stdout, cmd.Flags(), &r)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *planFlags) add(to *pflag.FlagSet) {
	to.Float64Var(&f.feed.PostsPerDay, "posts-per-day", f.feed.PostsPerDay, "posts of a mean day, as in 1e8")
	f.repeats.add(to)
	to.StringVar(&f.maxHold, "max-hold", units.FormatDuration(f.feed.MaxHold),
		"how far behind the fastest source the slowest may be (window.max_hold)")
	to.BoolVar(&f.feed.Texts, "texts", f.feed.Texts, "the window keeps the texts")
	f.model.add(to)

	to.Float64Var(&f.feed.PeakFactor, "peak", f.feed.PeakFactor,
		"posts of the busiest hour of a day against those of its mean hour, 1 to 24")
	to.Float64Var(&f.feed.SentencesPerPost, "sentences", f.feed.SentencesPerPost,
		"sentences of a post that are long enough to be compared")
	to.Float64Var(&f.feed.TokensPerSentence, "tokens", f.feed.TokensPerSentence, "distinct words of such a sentence")
	to.Float64Var(&f.feed.DistinctShare, "distinct", f.feed.DistinctShare,
		"share of distinct ones among the sentences of a span")
	to.Float64Var(&f.feed.TextBytes, "text-bytes", f.feed.TextBytes, "bytes of such a sentence")
	to.Float64Var(&f.feed.PostBytes, "post-bytes", f.feed.PostBytes, "bytes of a post as JSON")
	to.Float64Var(&f.feed.EventsPerSentence, "events", f.feed.EventsPerSentence,
		"texts that a sentence is reported to repeat, in the mean")

	to.IntVar(&f.machine.Cores, "cores", f.machine.Cores, "cores of a worker's machine")
	to.StringVar(&f.memory, "memory", sized(f.machine.Memory), "memory of a worker's machine")
	to.StringVar(&f.network, "network", sized(f.machine.Network), "bytes a second that a worker may read and write")
	to.StringVar(&f.machine.Broker, "broker", f.machine.Broker, "of the topics, where there are several workers: kafka or nats")
	to.IntVar(&f.machine.GPUs, "gpus", f.machine.GPUs, "GPUs of a worker's machine")
	to.StringVar(&f.gpuMemory, "gpu-memory", sized(f.machine.GPUMemory), "memory of each GPU, with --gpus")
	to.BoolVar(&f.json, "json", false, "print everything as JSON")
	f.addArchive(to)
}

// sized writes bytes as the flags take them.
func sized(bytes float64) string {
	if bytes < 1e9 {
		return fmt.Sprintf("%gMB", bytes/1e6)
	}
	return fmt.Sprintf("%gGB", bytes/1e9)
}

// parse reads what is not a number by itself.
func (f *planFlags) parse(flags *pflag.FlagSet) error {
	if !flags.Changed("posts-per-day") {
		return usage("--posts-per-day is missing: say how large the feed is, as in --posts-per-day 1e8")
	}
	window, err := f.repeats.window()
	if err != nil {
		return err
	}
	if f.feed.MaxHold, err = units.ParseDuration(f.maxHold); err != nil {
		return usage("--max-hold: %w", err)
	}
	if err := f.parseArchive(flags); err != nil {
		return err
	}
	f.feed.Measure = window.Similarity.String()
	f.feed.Threshold, f.feed.Span, f.feed.Lateness = window.Threshold.Float(), window.Span, window.Lateness
	const kB, MB = 1000, 1_000_000
	for _, b := range []struct {
		name, value string
		min         int64
		to          *float64
	}{
		{"memory", f.memory, MB, &f.machine.Memory}, {"network", f.network, kB, &f.machine.Network},
		{"gpu-memory", f.gpuMemory, MB, &f.machine.GPUMemory},
	} {
		n, err := units.ParseBytes(b.value)
		if err != nil {
			return usage("--%s: %w", b.name, err)
		}
		if err := units.MinBytes(n, b.min); err != nil {
			return usage("--%s %q is %w", b.name, b.value, err)
		}
		*b.to = float64(n)
	}
	return errors.Join(f.setCodes(), f.agree(flags))
}

// setCodes takes in what is known of the codes' false candidates.
func (f *planFlags) setCodes() error {
	model, err := f.model.model()
	if err != nil {
		return err
	}
	costs := plan.DefaultCosts()
	f.feed.SetCodes(model, &costs)
	return nil
}

// agree refuses flags that contradict each other.
func (f *planFlags) agree(flags *pflag.FlagSet) error {
	if flags.Changed("gpu-memory") && f.machine.GPUs == 0 {
		return usage("--gpu-memory %s: there are no GPUs; how many a machine has is --gpus", f.gpuMemory)
	}
	if text := math.Round(f.feed.SentencesPerPost * f.feed.TextBytes); flags.Changed("post-bytes") && f.feed.PostBytes < text {
		return usage("--post-bytes %v: want %.0f or more, which are the bytes of its sentences: --sentences %v of --text-bytes %v",
			f.feed.PostBytes, text, f.feed.SentencesPerPost, f.feed.TextBytes)
	}
	return nil
}

// planFlagOf is the flag of each quantity that a plan starts from.
var planFlagOf = map[string]string{
	"PostsPerDay": "posts-per-day", "PeakFactor": "peak", "Span": "span", "Lateness": "lateness", "MaxHold": "max-hold",
	"Measure": "measure", "Threshold": "threshold",
	"Bits": "bits", "Ones": "ones", "Model": "model", "SentencesPerPost": "sentences", "TokensPerSentence": "tokens",
	"DistinctShare": "distinct",
	"TextBytes":     "text-bytes", "PostBytes": "post-bytes", "EventsPerSentence": "events",
	"Cores": "cores", "Memory": "memory", "Network": "network", "Broker": "broker", "GPUs": "gpus", "GPUMemory": "gpu-memory",
	"Posts": "posts", "Slice": "slice", "Within": "within",
}

// byFlag says why there is no plan by the flags, as they were given.
func byFlag(err error, flags *pflag.FlagSet) error {
	if errors.Is(err, plan.ErrTooLarge) {
		return usage("no number of workers does it: shorten --span, raise --threshold, or take larger machines " +
			"(--memory, --cores, --network, --gpus)")
	}
	var wrong plan.Mistakes
	if !errors.As(err, &wrong) {
		return usage("%w", err)
	}
	var lines []string
	for _, m := range wrong {
		name := planFlagOf[m.Field]
		lines = append(lines, fmt.Sprintf("--%s %s: want %s", name, flags.Lookup(name).Value, m.Want))
	}
	return usage("%s", strings.Join(lines, "\n"))
}

// printJSON writes the input as it was understood, the costs, and the result.
func (f *planFlags) printJSON(w io.Writer, r *plan.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Feed    plan.Feed    `json:"feed"`
		Machine plan.Machine `json:"machine"`
		Costs   plan.Costs   `json:"costs"`
		Result  *plan.Result `json:"result"`
	}{f.feed, f.machine, plan.DefaultCosts(), r})
}

func (f *planFlags) print(w io.Writer, flags *pflag.FlagSet, r *plan.Result) error {
	var b strings.Builder
	f.printInput(&b, flags)
	printPlan(&b, r)
	printShares(&b, "Time, in cores busy at the peak, all workers", r.Time, func(v float64) string {
		return fmt.Sprintf("%.3g", v)
	})
	printShares(&b, "Memory, all workers", r.MemoryBy, func(v float64) string { return units.Bytes(int64(v)) })
	fmt.Fprintf(&b, "\nNearest to its limit: %s, at %.0f %% of what it may take.\n", r.Bottleneck, 100*r.Loads[0].Value)
	f.printChanges(&b, r)
	for i, warning := range r.Warnings {
		if i == 0 {
			fmt.Fprintln(&b, "\nMind:")
		}
		fmt.Fprintf(&b, "  - %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printInput says what was assumed, and where nobody said so.
func (f *planFlags) printInput(b *strings.Builder, flags *pflag.FlagSet) {
	f.printGroups(b, flags, []struct{ title, names string }{
		{"Feed", "posts-per-day peak sentences tokens distinct text-bytes post-bytes events"},
		{"Window", "span lateness max-hold measure threshold model bits ones texts"},
		{"Machine", "cores memory network broker gpus gpu-memory"},
	})
}

func (f *planFlags) printGroups(b *strings.Builder, flags *pflag.FlagSet, groups []struct{ title, names string }) {
	for _, g := range groups {
		var given, assumed []string
		for _, name := range strings.Fields(g.names) {
			setting := name + " " + plainNumber(flags.Lookup(name).Value.String())
			if name == "model" {
				setting = "model " + f.feed.Model
			}
			switch {
			case flags.Changed(name), name == "model" && f.model.sized():
				given = append(given, setting)
			case name == "gpu-memory" && f.machine.GPUs == 0, name == "bits", name == "ones", flags.Lookup(name).Value.String() == "":
			default:
				assumed = append(assumed, setting)
			}
		}
		if len(assumed) > 0 {
			given = append(given, "by default "+strings.Join(assumed, ", "))
		}
		fmt.Fprintf(b, "%-9s%s\n", g.title, strings.Join(given, ", "))
	}
}

// plainNumber writes 1e+08 as 100,000,000.
func plainNumber(s string) string {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 10_000 || v > 1e15 {
		return s
	}
	return units.Thousands(int64(v))
}

func printPlan(b *strings.Builder, r *plan.Result) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-12s"+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintln(b)
	if r.IsRunnable {
		line("workers", "%s, each on a machine of its own", units.Thousands(r.Workers))
	} else {
		line("workers", "%s, which refrain serve cannot run: a grid of %d rows that share the look-ups, %d columns that share the window",
			units.Thousands(r.Workers), r.Rows, r.Columns)
	}
	line("partitions", "%s, %d a worker (topics.partitions), with a thread for each (set workers to %d)", units.Thousands(r.Partitions),
		r.WorkerPartitions, r.WorkerPartitions)
	printCluster(line, r)
	line("memory", "%s a worker, %s in all: %s of window a worker, its garbage, and the process",
		units.Bytes(int64(r.MemoryPerWorker)),
		units.Bytes(int64(r.Memory)), units.Bytes(int64(r.WindowBytes/float64(r.Columns))))
	line("budget", "set window.budget to %s, a tenth more than the window should need; a worker that fills it takes %s",
		units.Bytes(int64(r.WindowBudget)), units.Bytes(int64(r.MemoryAtBudget)))
	if r.GPUs == 0 {
		line("GPUs", "0")
	} else {
		line("GPUs", "%s, %d a worker (set window.engine to cuda)", units.Thousands(r.GPUs),
			r.GPUs/r.Workers)
	}
	line("latency", "%s in the median, %s for 99 in 100, from a post to its event", units.Seconds(r.LatencyP50),
		units.Seconds(r.LatencyP99))
	line("window", "%s sentences, %s distinct, %s", units.Count(r.WindowSentences), units.Count(r.WindowRows),
		units.Bytes(int64(r.WindowBytes)))
	line("disk", "%s a worker, %s in all: %s of sentences and %s of events, those of span, lateness, max-hold and 1 h",
		units.Bytes(int64(r.DiskPerWorker)), units.Bytes(int64(r.Disk)),
		units.Bytes(int64(r.TopicBytes)), units.Bytes(int64(r.EventBytes)))
	line("", "%s of sentences while what no window needs is purged, as the embedded topic does unless a source is "+
		"far behind", units.Bytes(int64(r.PurgedBytes)))
	line("", "%s of the index of reuse (lookup.db), and up to %s a worker of dead letters (dead_letters)",
		units.Bytes(int64(r.IndexBytes)), units.Bytes(int64(r.LetterBytes)))
	line("limits", "set topics.sentence_bytes to %s and topics.event_bytes to %s, a tenth more",
		units.Bytes(int64(r.SentenceLimit)), units.Bytes(int64(r.EventLimit)))
	line("look-ups", "%s/s at the peak in every worker, %s each by %s", units.Count(r.Sentences/float64(r.Rows)),
		units.Seconds(r.LookupMicros/1e6), engineName(r))
	line("network", "%s/s a worker; the brokers send %s/s", units.Bytes(int64(r.NetworkPerWorker)),
		units.Bytes(int64(r.NetworkOut)))
	for _, a := range r.Alternatives[1:] {
		if a.Workers == 0 {
			line("or "+a.Engine, "not with any number of workers")
			continue
		}
		grid := ""
		if !a.IsRunnable {
			grid = " in a grid, which refrain serve cannot run"
		}
		line("or "+a.Engine, "%s %s%s, %s in all, %s a look-up", units.Thousands(a.Workers), terminal.Noun(a.Workers, "worker"), grid,
			units.Bytes(int64(a.Memory)), units.Seconds(a.LookupMicros/1e6))
	}
}

// engineName is the setting, and for how many the processor works: a partition each.
func engineName(r *plan.Result) string {
	if r.WorkerPartitions == 1 {
		return r.Engine
	}
	return fmt.Sprintf("%s, over %d partitions side by side", r.Engine, r.WorkerPartitions)
}

func printShares(b *strings.Builder, title string, shares []plan.Share, format func(float64) string) {
	total := 0.0
	for _, s := range shares {
		total += s.Value
	}
	fmt.Fprintf(b, "\n%s: %s\n", title, format(total))
	for _, s := range shares {
		if total > 0 {
			fmt.Fprintf(b, "  %5.1f %%  %-22s %s\n", 100*s.Value/total, s.Name, format(s.Value))
		}
	}
}

// printChanges plans again with one thing changed at a time.
func (f *planFlags) printChanges(b *strings.Builder, now *plan.Result) {
	fmt.Fprintf(b, "\nWhat would change it (now %s %s, %s in all):\n", units.Thousands(now.Workers),
		terminal.Noun(now.Workers, "worker"), units.Bytes(int64(now.Memory)))
	for _, c := range []struct {
		name   string
		change func(*plan.Feed, *plan.Machine)
	}{
		{"half the span", func(f *plan.Feed, _ *plan.Machine) { f.Span /= 2 }},
		{"threshold 0.1 higher", func(f *plan.Feed, _ *plan.Machine) { f.Threshold = min(1, f.Threshold+0.1) }},
		{"no texts in the window", func(f *plan.Feed, _ *plan.Machine) { f.Texts = false }},
		{"twice the cores", func(_ *plan.Feed, m *plan.Machine) { m.Cores *= 2 }},
		{"twice the memory", func(_ *plan.Feed, m *plan.Machine) { m.Memory *= 2 }},
		{"a GPU more each", func(_ *plan.Feed, m *plan.Machine) { m.GPUs++ }},
		{"twice the posts", func(f *plan.Feed, _ *plan.Machine) { f.PostsPerDay *= 2 }},
	} {
		feed, machine := f.feed, f.machine
		c.change(&feed, &machine)
		r, err := plan.Plan(feed, machine, plan.DefaultCosts())
		if err != nil {
			fmt.Fprintf(b, "  %-24s not with any number of workers\n", c.name)
			continue
		}
		fmt.Fprintf(b, "  %-24s %s %s by %s, %s in all\n", c.name, units.Thousands(r.Workers),
			terminal.Noun(r.Workers, "worker"), r.Engine, units.Bytes(int64(r.Memory)))
	}
}
