package hashcodes

import (
	"errors"
	"fmt"
	"os"
)

// Open returns the model of a name: "default" is built in, "md5" are hashed codes of so many bits and ones, anything else
// is the path of a file. bits and ones are those of md5: other models have their own.
func Open(name string, bits, ones int) (*Model, error) {
	switch name {
	case "-":
		return nil, errors.New("model -: a model is read from a file, not from stdin")
	case "default":
		return Default(), nil
	case "md5":
		return NewMD5(bits, ones)
	}
	return openFile(name)
}

func openFile(path string) (*Model, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("model %s: there is no such file; the built-in ones are default and md5", path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := holdsSome(file); err != nil {
		return nil, fmt.Errorf("model %s: %w", path, err)
	}
	model, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w: it is damaged, or something else than a model", path, err)
	}
	if err := model.CheckVersion(); err != nil {
		return nil, fmt.Errorf("model %s: %w", path, err)
	}
	return model, nil
}

// holdsSome says what a file is from which nothing can be read. A pipe's size is not known.
func holdsSome(file *os.File) error {
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a directory")
	case info.Mode().IsRegular() && info.Size() == 0:
		return errors.New("the file is empty")
	}
	return nil
}
