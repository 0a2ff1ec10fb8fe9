package models

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/text"
)

var quiet = slog.New(slog.DiscardHandler)

func mustModel(tb testing.TB, learner string, positions ...uint8) *hashcodes.Model {
	tb.Helper()
	m, err := hashcodes.New(hashcodes.Description{Bits: 32, Ones: 1, Learner: learner, TextVersion: text.Version},
		[]hashcodes.Entry{{Token: 7, Frequency: 1, Positions: positions}})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func mustRegistry(tb testing.TB, dir, threshold string) *Registry {
	tb.Helper()
	r, err := OpenRegistry(dir, mustModel(tb, "base"), threshold, quiet)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// add makes a model the one in use.
func add(tb testing.TB, r *Registry, position uint8) (id int) {
	tb.Helper()
	id, err := r.Add(mustModel(tb, "learned", position), Entry{Why: "request"})
	if err == nil {
		err = r.SetCurrent(id)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func ids(r *Registry) (list []int, current int) {
	entries, current := r.List()
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list, current
}

// position is where the code of token 7 has its bit, -1 for none.
func position(m *hashcodes.Model) int {
	for e := range m.Entries() {
		for _, p := range e.Positions {
			return int(p)
		}
	}
	return -1
}

func TestRegistryIsTheSameAfterARestart(t *testing.T) {
	dir := t.TempDir()
	r := mustRegistry(t, dir, "4/5")
	if list, current := ids(r); !slices.Equal(list, []int{0}) || current != 0 || position(r.InUse(quiet)) != -1 {
		t.Errorf("an empty registry has %v, %d in use", list, current)
	}
	add(t, r, 3)
	add(t, r, 5)
	if err := r.SetCurrent(1); err != nil {
		t.Fatal(err)
	}
	again := mustRegistry(t, dir, "4/5")
	if list, current := ids(again); !slices.Equal(list, []int{0, 1, 2}) || current != 1 || position(again.InUse(quiet)) != 3 {
		t.Errorf("after a restart: %v, %d in use, position %d", list, current, position(again.InUse(quiet)))
	}
	if _, err := again.Load(9); !errors.Is(err, ErrUnknown) {
		t.Errorf("load an unknown model: %v", err)
	}
}

func TestRegistryKeepsTheModelInUse(t *testing.T) {
	dir := t.TempDir()
	r := mustRegistry(t, dir, "4/5")
	for p := range uint8(2) {
		add(t, r, p)
	}
	if err := r.SetCurrent(1); err != nil {
		t.Fatal(err)
	}
	for p := range uint8(10) {
		if _, err := r.Add(mustModel(t, "learned", p), Entry{}); err != nil {
			t.Fatal(err)
		}
	}
	list, _ := ids(r)
	if want := []int{0, 1, 9, 10, 11, 12}; !slices.Equal(list, want) {
		t.Errorf("models %v, want %v", list, want)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.model"))
	if err != nil || len(files) != len(list)-1 {
		t.Errorf("files %v (%v), want one for each of %v", files, err, list[1:])
	}
}

// TestRegistryOutlivesDamage: whatever has happened to the files, there is a model to begin with, and the next one that is
// learned takes no other's place.
func TestRegistryOutlivesDamage(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"list cut off":  func(dir string) error { return os.Truncate(filepath.Join(dir, "models.json"), 20) },
		"list gone":     func(dir string) error { return os.Remove(filepath.Join(dir, "models.json")) },
		"model cut off": func(dir string) error { return os.Truncate(filepath.Join(dir, "2.model"), 30) },
		"model gone":    func(dir string) error { return os.Remove(filepath.Join(dir, "2.model")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := mustRegistry(t, dir, "4/5")
			add(t, r, 3)
			add(t, r, 5)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			r = mustRegistry(t, dir, "4/5")
			if m := r.InUse(quiet); position(m) != -1 {
				t.Errorf("begins with a model whose bit is at %d, want the configuration's", position(m))
			}
			if id := add(t, r, 9); id != 3 || position(mustRegistry(t, dir, "4/5").InUse(quiet)) != 9 {
				t.Errorf("the next model has number %d, want 3, and is in use after a restart", id)
			}
		})
	}
}

// TestRegistryOfOtherCodes: what was learned for one threshold is not used for another, until somebody asks for it.
func TestRegistryOfOtherCodes(t *testing.T) {
	dir := t.TempDir()
	add(t, mustRegistry(t, dir, "4/5"), 3)
	r := mustRegistry(t, dir, "3/5")
	if m := r.InUse(quiet); position(m) != -1 {
		t.Errorf("a model for another threshold is in use")
	}
	if list, current := ids(r); !slices.Equal(list, []int{0, 1}) || current != 0 {
		t.Errorf("%v, %d in use", list, current)
	}
	if err := r.SetCurrent(1); err != nil {
		t.Fatal(err)
	}
	if _, current := ids(mustRegistry(t, dir, "3/5")); current != 1 {
		t.Errorf("what was asked for is not in use after a restart: %d", current)
	}
}

// TestRegistryOfAnotherModel: a model of the configuration that is another one, by whatever name, is the one in use again.
func TestRegistryOfAnotherModel(t *testing.T) {
	dir := t.TempDir()
	add(t, mustRegistry(t, dir, "4/5"), 3)
	r, err := OpenRegistry(dir, mustModel(t, "base", 30), "4/5", quiet)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.InUse(quiet); position(m) != 30 {
		t.Errorf("the model in use has its bit at %d, want that of the configuration", position(m))
	}
	if err := r.SetCurrent(7); !errors.Is(err, ErrUnknown) {
		t.Errorf("use an unknown model: %v", err)
	}
}
