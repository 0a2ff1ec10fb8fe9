package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"refrain/hashcodes"
)

// Check reads the list of a folder of models and each model in it, changes nothing, and reports the files that are
// damaged, or missing. It returns how many models the list has.
func Check(dir string, report func(file string, err error)) int {
	path := filepath.Join(dir, "models.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	var l list
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		report(path, err)
		return 0
	}
	for _, e := range l.Models {
		if err := checkFile(filepath.Join(dir, fmt.Sprintf("%d.model", e.ID))); err != nil {
			report(filepath.Join(dir, fmt.Sprintf("%d.model", e.ID)), err)
		}
	}
	return len(l.Models)
}

func checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = hashcodes.Read(f)
	return err
}
