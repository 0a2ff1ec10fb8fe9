package datadir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// logs are the files of JSON lines.
func (c *checker) logs() error {
	for _, pattern := range []string{"dead-letters.jsonl*", "dead-events.jsonl*", "webhooks.log*"} {
		files, err := filepath.Glob(filepath.Join(c.Dir, pattern))
		for _, path := range files {
			err = errors.Join(err, c.log(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// log checks that each line is an object. The last one may not have been finished.
func (c *checker) log(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	name, lines, at := strings.TrimPrefix(path, c.Dir+string(filepath.Separator)), 0, int64(0)
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if lines++; !json.Valid(line) || !bytes.HasPrefix(line, []byte("{")) {
			c.found(path, at, "line %d is no JSON object", lines)
		}
		at += int64(len(line))
		if err := c.progress(int64(len(line)), name); err != nil {
			return err
		}
	}
	c.endPart("%s, %d lines", name, lines)
	return nil
}
