package siege

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// TestMemoryOfDeletions: posts that nobody has, with names as long as names may be, take the memory of their hashes. It is
// measured after a restart, when the server has read them and the broker no longer has what was written in its caches;
// and here, because the race detector would take as much memory again.
func TestMemoryOfDeletions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const n, mib = 40_000, 1 << 20
	long := strings.Repeat("x", 1000)
	p := e2e.New(t, "REFRAIN_WINDOW_BUDGET=64MB")
	p.Start()
	deleteAll(p, n, func(i int) string { return fmt.Sprintf("/v1/posts/%s%d?source=%s%d", long, i, long, i) })
	p.Await(time.Minute, "tombstones", func() bool { return p.Counters()["refrain_shard_tombstones"] == n })
	p.Events()
	wrote := e2e.RSSAnon(p.Cmd.Process.Pid)
	_ = p.Kill(syscall.SIGKILL)
	p.Start()
	held := e2e.RSSAnon(p.Cmd.Process.Pid)
	t.Logf("RssAnon %d MiB when they were written, %d MiB after a restart", wrote/mib, held/mib)
	if held == 0 || held > 100*mib {
		t.Errorf("%d bytes held: %d names are %d bytes", held, n, 2*n*len(long))
	}
}

// deleteAll has posts deleted by some clients, all of them.
func deleteAll(p *e2e.Process, n int, path func(i int) string) {
	p.TB.Helper()
	var next atomic.Int64
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := p.TryDelete(path(i)); err != nil {
					p.TB.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}
