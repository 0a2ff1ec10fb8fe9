package deploy_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"refrain/internal/devservers"
)

// panel is what the tests read of one of the dashboard.
type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ H, W, X, Y int }
	Targets []struct{ Expr string }
}

func mustPanels(t *testing.T) []panel {
	t.Helper()
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal(mustRead(t, "grafana/refrain.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	if len(dashboard.Panels) == 0 {
		t.Fatal("no panels")
	}
	return dashboard.Panels
}

// asked is an expression with what Grafana puts into it.
func asked(expr string) string {
	return strings.NewReplacer(`=~"$job"`, `="refrain"`, "$__rate_interval", "1m").Replace(expr)
}

// TestDashboardKnowsItsMetrics: a panel over a metric that nobody has stays empty, and says nothing of it. They are in the tables of
// docs/operations.md; a histogram there goes by its name alone.
func TestDashboardKnowsItsMetrics(t *testing.T) {
	documented := string(mustRead(t, "../docs/operations.md"))
	for _, p := range mustPanels(t) {
		for _, target := range p.Targets {
			for _, m := range selector.FindAllStringSubmatch(target.Expr, -1) {
				name := strings.TrimSuffix(strings.TrimSuffix(m[1], "_bucket"), "_count")
				if !inTable(documented, name) {
					t.Errorf("%s: %s is not in a table of docs/operations.md", p.Title, name)
				}
			}
		}
	}
}

// TestDashboardIsPromQL has Prometheus read every expression, as a rule.
func TestDashboardIsPromQL(t *testing.T) {
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, p := range mustPanels(t) {
		for _, target := range p.Targets {
			rules = append(rules, rule{"panel", asked(target.Expr)})
		}
	}
	file, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	mustWrite(t, path, string(file))
	out, err := exec.Command(devservers.Promtool(t), "check", "rules", "--lint=none", path).CombinedOutput()
	if err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}

// TestDashboardFits: panels have numbers of their own, lie beside each other, and say what they show.
func TestDashboardFits(t *testing.T) {
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range mustPanels(t) {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q: twice, without a title, or without an expression", p.ID, p.Title)
		}
		ids[p.ID] = true
		at := p.GridPos
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q, or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
