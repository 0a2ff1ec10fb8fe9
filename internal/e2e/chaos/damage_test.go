package chaos

import (
	"cmp"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// damageSnapshot cuts a file short of those that a process may restore its window from, which does not run, or changes a byte of
// it. It is false where there are none.
func (n *node) damageSnapshot(rng *rand.Rand, shared string) bool {
	n.TB.Helper()
	path, ok := pick(rng, filesBelow(cmp.Or(shared, filepath.Join(n.Dir, "snapshots"))))
	if !ok {
		return false
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 { // another process may have removed it
		return false
	}
	at := rng.IntN(len(data))
	if rng.IntN(2) == 0 {
		data = data[:at]
	} else {
		data[at] ^= 1 << rng.IntN(8)
	}
	n.TB.Logf("%s: %s is damaged at byte %d", n.name, filepath.Base(path), at)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		n.TB.Fatal(err)
	}
	return true
}

func filesBelow(dir string) (paths []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // there may be none yet
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}
