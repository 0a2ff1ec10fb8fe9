package chaos

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// result is a row of the table.
type result struct {
	seed     uint64
	counts   [faults]int
	starts   int
	repeated int
	events   int
	lag      time.Duration // the greatest that any process has told of
	took     time.Duration
}

func header() string {
	columns := append(append([]string{"seed"}, names[:]...), "started again", "batches repeated", "events", "greatest lag, s", "took, s")
	return fmt.Sprintf("| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("--:|", len(columns)))
}

func (r *result) row() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %d ", r.seed)
	for _, n := range r.counts {
		fmt.Fprintf(&b, "| %d ", n)
	}
	fmt.Fprintf(&b, "| %d | %d | %d | %.1f | %.0f |", r.starts, r.repeated, r.events, r.lag.Seconds(), r.took.Seconds())
	return b.String()
}

// progress is a table in a file with a row for each run that went well. Whoever runs the test again goes on where it ended:
// delete the file to begin anew, as after a change of what is tried. It is in the folder that REFRAIN_PROGRESS names; without one
// there is none.
type progress struct{ path string }

func openProgress(t *testing.T) progress {
	dir := os.Getenv("REFRAIN_PROGRESS")
	if dir == "" {
		return progress{}
	}
	return progress{filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+".md")}
}

func (p progress) has(t *testing.T, seed uint64) bool {
	t.Helper()
	if p.path == "" {
		return false
	}
	file, err := os.Open(p.path)
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), fmt.Sprintf("| %d ", seed)) {
			return true
		}
	}
	return false
}

func (p progress) add(t *testing.T, r *result) {
	t.Helper()
	if p.path == "" {
		return
	}
	file, err := os.OpenFile(p.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		fmt.Fprint(file, header())
	}
	fmt.Fprintln(file, r.row())
}

// lagWatch asks every process now and then how far look-ups are behind.
type lagWatch struct {
	greatest time.Duration
	stop     context.CancelFunc
	done     sync.WaitGroup
}

func (d *deployment) watchLag(ctx context.Context) *lagWatch {
	ctx, stop := context.WithCancel(ctx)
	w := &lagWatch{stop: stop}
	w.done.Go(func() {
		for tick := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; {
			for _, n := range d.all() {
				w.greatest = max(w.greatest, lagOf(ctx, n))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return w
}

// end is the greatest lag that anybody has told of.
func (w *lagWatch) end() time.Duration {
	w.stop()
	w.done.Wait()
	return w.greatest
}

// lagOf is 0 where nobody answers.
func lagOf(ctx context.Context, n *node) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL("/metrics"), nil)
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "refrain_server_lag_seconds"); ok {
			seconds, _ := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64) // or it is 0
			return time.Duration(seconds * float64(time.Second))
		}
	}
	return 0
}
