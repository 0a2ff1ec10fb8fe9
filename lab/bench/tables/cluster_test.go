package tables

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// agrees is how far what is planned may be from what was measured.
const agrees = 1.5

// TestPlanAgreesWithCluster holds package plan against the table of docs/measurements/benchmarks.md: processor time of all,
// and of each process that does the route's work.
func TestPlanAgreesWithCluster(t *testing.T) {
	table := clusterTable(t)
	found := foundIn(t, table)
	compared := 0
	for _, f := range (&clusterBench{options: DefaultCluster()}).shapes() {
		cells := rowOf(t, table, f.name())
		p := planned(found, DefaultCluster().Partitions, f.Broker, f.Workers)
		for i, want := range []float64{p.All, p.Split, p.Match, 0, 0, p.Split + p.Match + p.Publish} {
			measured, ok := measuredIn(t, cells[i])
			if !ok || want == 0 {
				continue
			}
			compared++
			if ratio := want / measured; ratio > agrees || ratio < 1/agrees {
				t.Errorf("%s, column %d: planned %.3g µs a post, measured %.3g", f.name(), i+1, want, measured)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d figures compared", compared)
	}
}

func clusterTable(t *testing.T) string {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "measurements", "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(document), "<!-- bench:cluster -->")
	table, _, ok2 := strings.Cut(table, "<!-- /bench -->")
	if !ok || !ok2 {
		t.Fatal("no table cluster")
	}
	return table
}

// foundIn is what the table says of its posts.
func foundIn(t *testing.T, table string) *DetectFigure {
	t.Helper()
	m := regexp.MustCompile(`the first ([\d,]+) posts of .*: ([\d,]+) sentences, ([\d,]+) events, ([\d,]+) texts`).FindStringSubmatch(table)
	if m == nil {
		t.Fatal("the table does not say what its posts are like")
	}
	var n [4]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(strings.ReplaceAll(m[i+1], ",", "")); err != nil {
			t.Fatal(err)
		}
	}
	return &DetectFigure{Posts: n[0], Sentences: n[1], Events: n[2], Distinct: n[3]}
}

// rowOf are the cells of a deployment in the table of processor times.
func rowOf(t *testing.T, table, name string) []string {
	t.Helper()
	_, times, _ := strings.Cut(table, timeCaption)
	for line := range strings.Lines(times) {
		if cells, ok := strings.CutPrefix(line, "| "+name+" |"); ok {
			return strings.Split(strings.Trim(strings.TrimSpace(cells), "|"), "|")
		}
	}
	t.Fatalf("no row %q", name)
	return nil
}

// measuredIn is the first figure of a cell; false where there is none.
func measuredIn(t *testing.T, cell string) (float64, bool) {
	t.Helper()
	measured, _, ok := strings.Cut(strings.TrimSpace(cell), " / ")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(measured, ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v, true
}
