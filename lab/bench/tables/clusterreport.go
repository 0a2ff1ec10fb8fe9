package tables

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"refrain/internal/units"
	"refrain/lab/report"
)

func (b *clusterBench) report(file string, figures []ClusterFigure) *report.Report {
	n := bytes.Count(b.posts, []byte("\n"))
	r := b.Config.report("cluster", "The route over several processes that share the topics of a broker of one node: what it costs, on one machine.",
		fmt.Sprintf("the first %s posts of %s: %s sentences, %s events, %s texts in the window at the end", units.Thousands(n), filepath.Base(file),
			units.Thousands(b.found.Sentences), units.Thousands(len(b.want)), units.Thousands(b.found.Distinct)))
	r.Figures = figures
	r.Grids = []report.Grid{clusterRates(figures), clusterCPU(figures), clusterWire(figures), clusterMemory(figures)}
	r.Note("%s, all deployments in turns; ratios are of one round. Every run begins with an empty window, and is counted only if its events "+
		"are exactly those of `refrain detect`; repeated are events that the topic has twice, under one id", b.medians())
	r.Note("posts go in by one request of POST /v1/posts, through when the last event is at a client of GET /v1/events; client, "+
		"processes and broker share the machine; %d partitions; N match: N processes for look-ups, one with the role split, one with publish, "+
		"lookup and api; as many match workers in a process as it has cores to itself; no index; the broker has had one run before that "+
		"does not count", b.options.Partitions)
	r.Note("processor time is that from the first post to the last event, and what the processors allow is all of them by the time of a post; bytes " +
		"are those of the connections between the processes and the broker, as `refrain_kafka_sent_bytes_total` and its " +
		"like count them; requests of NATS are all messages that the server gets")
	return r
}

func clusterRates(all []ClusterFigure) report.Grid {
	g := report.Grid{Head: []string{"", "posts/s accepted", "posts/s through", "of the embedded one", "of what the processors allow",
		"events repeated"}}
	for _, f := range all {
		g.Add(f.name(), units.Three(f.Accepted), units.Three(f.PerSecond), fmt.Sprintf("%.2f", f.Ratio), fmt.Sprintf("%.2f", f.allowed()),
			units.Thousands(f.Repeated))
	}
	return g
}

// allowed is what goes through, of what would if all processors did nothing else.
func (f *ClusterFigure) allowed() float64 {
	return f.PerSecond * f.AllCPU / 1e6 / float64(runtime.NumCPU())
}

func clusterCPU(all []ClusterFigure) report.Grid {
	g := report.Grid{Caption: timeCaption, Head: []string{"", "all", "split", "match, each", "publish and api", "broker", "one process"}}
	for _, f := range all {
		p := &f.Planned
		one := p.Split + p.Match + p.Publish
		g.Add(f.name(), measuredAndPlanned(f.AllCPU, p.All), micros(f.CPU, "split", p.Split), micros(f.CPU, "match", p.Match),
			micros(f.CPU, "rest", p.Publish), micros(f.CPU, "broker", p.Broker), micros(f.CPU, "all", one))
	}
	return g
}

// timeCaption is that of the table by which package plan is judged.
const timeCaption = "**Processor time**, µs a post: measured / as `refrain plan` reckons"

func micros(of map[string]float64, name string, planned float64) string {
	if v, ok := of[name]; ok {
		return measuredAndPlanned(v, planned)
	}
	return "-"
}

func measuredAndPlanned(measured, planned float64) string {
	return units.Three(measured) + " / " + units.Three(planned)
}

func clusterWire(all []ClusterFigure) report.Grid {
	g := report.Grid{Caption: "**What goes to the broker**", Head: []string{"", "bytes a post, to it", "bytes a post, from it",
		"requests/s, busy", "requests/s, idle",
		"cores busy when idle: broker, all processes"}}
	for _, f := range all {
		if f.Broker != embedded {
			g.Add(f.name(), units.Three(f.Sent), units.Three(f.Received), requests(f.Busy), requests(f.Idle), idleCores(f.IdleCPU))
		}
	}
	return g
}

func idleCores(of map[string]float64) string {
	processes := 0.0
	for name, v := range of {
		if name != "broker" {
			processes += v
		}
	}
	return fmt.Sprintf("%.3f, %.3f", of["broker"], processes)
}

// requests are the most frequent ones, and all together.
func requests(of map[string]float64) string {
	const shown = 4
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b))
	})
	total := 0.0
	var parts []string
	for i, name := range names {
		total += of[name]
		if i < shown && of[name] >= 0.5 {
			parts = append(parts, fmt.Sprintf("%s %.0f", name, of[name]))
		}
	}
	return fmt.Sprintf("%.0f (%s)", total, strings.Join(parts, ", "))
}

func clusterMemory(all []ClusterFigure) report.Grid {
	g := report.Grid{Caption: "**Memory**, the greatest RSS of any run; of the broker that at its end", Head: []string{"", "split", "match, the largest",
		"publish and api", "broker", "one process"}}
	for _, f := range all {
		g.Add(f.name(), bytesOf(f.Memory, "split"), bytesOf(f.Memory, "match"), bytesOf(f.Memory, "rest"), bytesOf(f.Memory, "broker"),
			bytesOf(f.Memory, "all"))
	}
	return g
}

func bytesOf(of map[string]int64, name string) string {
	if v, ok := of[name]; ok {
		return units.Bytes(v)
	}
	return "-"
}
