// Package deploy_test holds the unit and the alerts against systemd, Prometheus and a server.
package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }

// alert is what the tests read of a rule.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func mustAlerts(t *testing.T) []alert {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(mustRead(t, "alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no alerts")
	}
	return all
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// selector is a metric in an expression, with its matchers; labelValue is one of those.
var (
	selector   = regexp.MustCompile(`(refrain_\w+)(?:\{([^}]*)\})?`)
	labelValue = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// TestAlertsKnowTheirMetrics: an expression over a metric that nobody has fires never, and says nothing of it. What a
// server with a source and a sink shows from its start has to have the labels too; what appears with its first event has to
// be in the table of docs/operations.md.
func TestAlertsKnowTheirMetrics(t *testing.T) {
	shown, documented := metricsOfAServer(t), string(mustRead(t, "../docs/operations.md"))
	for _, a := range mustAlerts(t) {
		used := selector.FindAllStringSubmatch(a.Expr, -1)
		if len(used) == 0 && a.Alert != "RefrainDown" { // that goes by Prometheus' own metric up
			t.Errorf("%s: no metric of ours in %q", a.Alert, a.Expr)
		}
		for _, m := range used {
			if !has(shown, m[1], m[2]) && !inTable(documented, m[1]) {
				t.Errorf("%s: %s is neither at /metrics nor in the table of docs/operations.md", a.Alert, m[0])
			}
			if has(shown, m[1], "") && !has(shown, m[1], m[2]) {
				t.Errorf("%s: /metrics has %s, but not with %s", a.Alert, m[1], m[2])
			}
		}
	}
}

// inTable tells whether a line of the table of metrics begins with a name, perhaps behind others.
func inTable(document, name string) bool {
	return regexp.MustCompile("(?m)^\\| (`[^`]*`, )*`" + name + "[`{]").MatchString(document)
}

// has tells whether a series of that name bears all the matchers.
func has(series []string, name, matchers string) bool {
	return slices.ContainsFunc(series, func(s string) bool {
		of, _, _ := strings.Cut(s, "{")
		for _, m := range labelValue.FindAllString(matchers, -1) {
			if !strings.Contains(s, m) {
				return false
			}
		}
		return of == name
	})
}

// metricsOfAServer are the series of one whose broker and endpoint are away, without their values.
func metricsOfAServer(t *testing.T) []string {
	t.Helper()
	config := fmt.Sprintf("ingest: {kafka: [{brokers: [%q], topics: [posts], group: refrain}]}\n"+
		"publish: {kafka: [{name: alerts, brokers: [%[1]q], topic: reuse}]}\n", e2e.FreeAddress(t))
	p := e2e.New(t, e2e.WithYAML(t, config))
	p.Start()
	var series []string
	p.Await(30*time.Second, "source at /metrics", func() bool {
		series = seriesOf(p)
		return has(series, "refrain_ingest_up", "")
	})
	return series
}

func seriesOf(p *e2e.Process) (series []string) {
	_, metrics := p.Get("/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "refrain_") {
			series = append(series, line[:strings.LastIndex(line, " ")])
		}
	}
	return series
}

// TestAlertsAreExplained: whoever is woken by an alert finds it in the docs.
func TestAlertsAreExplained(t *testing.T) {
	documented, series := string(mustRead(t, "../docs/running.md")), string(mustRead(t, "alerts_test.yaml"))
	for _, a := range mustAlerts(t) {
		if !strings.Contains(documented, "| `"+a.Alert+"` |") {
			t.Errorf("%s is not in the table of docs/running.md#alerts", a.Alert)
		}
		if !slices.Contains([]string{"page", "ticket"}, a.Labels["severity"]) || a.Annotations["summary"] == "" {
			t.Errorf("%s: severity %q, summary %q", a.Alert, a.Labels["severity"], a.Annotations["summary"])
		}
		if !strings.Contains(series, "    alertname: "+a.Alert+"\n    exp_alerts:") || !strings.Contains(series, "{alertname: "+a.Alert+", eval_time: 3h}") {
			t.Errorf("%s: alerts_test.yaml needs series at which it fires, and the name in the list of those that do not", a.Alert)
		}
	}
}

// TestAlertsFire has Prometheus read the rules, and compute them over the series of alerts_test.yaml.
func TestAlertsFire(t *testing.T) {
	promtool := devservers.Promtool(t)
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
