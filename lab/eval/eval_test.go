package eval

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"refrain/hashcodes"
)

// A model is learned once, and with a folder once for all runs of one seed.
func TestModel(t *testing.T) {
	learned := 0
	learn := func() (*hashcodes.Model, error) {
		learned++
		return hashcodes.NewMD5(32, 2)
	}
	folder := t.TempDir()
	for i, want := range []struct {
		config  Config
		learned int
	}{
		{Config{Seed: 1, Models: folder}, 1},
		{Config{Seed: 1, Models: folder}, 1},
		{Config{Seed: 2, Models: folder}, 2},
		{Config{Seed: 1, Models: folder, Quick: true}, 3},
		{Config{Seed: 1}, 4},
	} {
		for range 2 {
			m, err := want.config.Model("of a kind", learn)
			if err != nil || m.Name() != "md5-32-2" || learned != want.learned {
				t.Errorf("%d: %v, %v, learned %d times, want %d", i, m, err, learned, want.learned)
			}
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 3 || files[0].Name() != "of-a-kind-seed1-quick.model" {
		t.Errorf("%v, %v", files, err)
	}
}

// A failure is not kept, and neither is a broken file passed over.
func TestModelFails(t *testing.T) {
	c := Config{Models: t.TempDir()}
	wrong := errors.New("wrong")
	if _, err := c.Model("a", func() (*hashcodes.Model, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if m, err := c.Model("a", func() (*hashcodes.Model, error) { return hashcodes.NewMD5(32, 1) }); err != nil || m == nil {
		t.Errorf("got %v, %v", m, err)
	}
	if err := os.WriteFile(filepath.Join(c.Models, "b-seed0.model"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Model("b", func() (*hashcodes.Model, error) { return hashcodes.NewMD5(32, 1) }); err == nil {
		t.Error("a broken file is no error")
	}
}
