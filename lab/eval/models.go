package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"refrain/hashcodes"
	"refrain/lab/report"
)

// Model learns a model for the first table that asks for it under a name, and keeps it for the next. With a folder for
// models it is also kept there, and one that is there already is taken: whoever changes a learner takes another folder.
func (c *Config) Model(name string, learn func() (*hashcodes.Model, error)) (*hashcodes.Model, error) {
	return Once(c, "model "+name, func() (*hashcodes.Model, error) {
		path := c.modelFile(name)
		if path == "" {
			return learn()
		}
		m, err := readModel(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		if m, err = learn(); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			return nil, err
		}
		return m, report.WriteFile(path, b.Bytes())
	})
}

// modelFile is where a model is kept; "" for nowhere.
func (c *Config) modelFile(name string) string {
	if c.Models == "" {
		return ""
	}
	return filepath.Join(c.Models, fmt.Sprintf("%s-seed%d%s.model", strings.ReplaceAll(name, " ", "-"), c.Seed,
		Size(c, "", "-quick")))
}

func readModel(path string) (*hashcodes.Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := hashcodes.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}
