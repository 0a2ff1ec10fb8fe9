// Package config reads the configuration of `refrain serve`.
//
// One YAML file, then environment variables, then flags, each over the one before. A key that does not exist is an error
// that names it, wherever it stands. What the settings are, and their defaults, is server.Config.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"refrain/internal/smallfile"
	"refrain/server"
)

// Load reads a file over the defaults, and the environment over both. path "" means no file.
func Load(path string, environ []string) (server.Config, error) {
	c := server.Default()
	if path != "" {
		if err := readFile(&c, path); err != nil {
			return server.Config{}, err
		}
	}
	return c, readEnvironment(&c, environ)
}

// maxBytes is more than any configuration has.
const maxBytes = 16 << 20

func readFile(c *server.Config, path string) error {
	data, err := smallfile.Read(path, maxBytes)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	file, err := parse(data)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	if len(file.Content) == 0 {
		return nil // an empty file is one without settings
	}
	settings, err := expand(file.Content[0])
	if err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	mistakes := check(settings, c)
	err = settings.Decode(c)
	if wrong := (*yaml.TypeError)(nil); errors.As(err, &wrong) {
		mistakes = append(mistakes, plainly(wrong.Errors)...)
	} else if err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	if len(mistakes) > 0 {
		return fmt.Errorf("configuration %s: %s", path, strings.Join(mistakes, "; "))
	}
	return nil
}

// parse reads the one document of a file. A second one would be passed over without a word.
func parse(data []byte) (file yaml.Node, err error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&file); err != nil && err != io.EOF {
		return file, err
	}
	var second yaml.Node
	switch err := d.Decode(&second); {
	case err == io.EOF:
		return file, nil
	case err != nil:
		return file, err
	}
	return file, fmt.Errorf("line %d: a second document begins behind `---`: write all settings into one", second.Line)
}
