package models

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestMutatedRegistries: whatever has become of the list and of the file of the model in use, the registry opens,
// begins with a model that somebody made, and takes another.
func TestMutatedRegistries(t *testing.T) {
	dir := t.TempDir()
	r := mustRegistry(t, dir, "4/5")
	add(t, r, 3)
	add(t, r, 5)
	files := map[string][]byte{}
	for _, name := range []string{"models.json", "2.model"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	random, unharmed := rand.New(rand.NewPCG(16, 4001)), 0
	for i := range 150 {
		dir := t.TempDir()
		for name, b := range files {
			b = bytes.Clone(b)
			switch random.IntN(6) {
			case 0:
				b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			case 1:
				b = b[:random.IntN(len(b))]
			case 2:
				at := random.IntN(len(b))
				b = append(b[:at:at], b[random.IntN(len(b)):]...)
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := OpenRegistry(dir, mustModel(t, "base"), "4/5", quiet)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		switch got := position(r.InUse(quiet)); got {
		case 5:
			unharmed++
		case -1: // the configuration's
		default:
			t.Errorf("%d: begins with a model whose bit is at %d", i, got)
		}
		Check(dir, func(string, error) {})
		add(t, r, 9)
		if got := position(mustRegistry(t, dir, "4/5").InUse(quiet)); got != 9 {
			t.Errorf("%d: the next model is not in use after a restart, but one whose bit is at %d", i, got)
		}
	}
	if unharmed < 30 || unharmed > 120 {
		t.Errorf("%d of 150 go on with the model in use: too few of either are tried", unharmed)
	}
}
