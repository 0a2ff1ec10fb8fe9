// Command defaultmodel makes the model that is embedded in the program: hashcodes/default.model, and beside it the list
// of its words, default_vocabulary.txt, for people to read.
//
//	REFRAIN_DATA=… go run ./lab/defaultmodel          writes both; the same data give the same bytes
//	REFRAIN_DATA=… go run ./lab/defaultmodel -check   makes them again and compares
//	go run ./lab/defaultmodel -hash < words           hashes of words, for excluded/*.txt
//
// It reads each corpus once (reading.go), decides which words may be in the vocabulary (words.go), learns codes for them
// from a mixture of the corpora (corpora.go), and writes down what they are worth (describe.go).
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"refrain/text"
)

func main() {
	var o options
	flag.StringVar(&o.data, "data", os.Getenv("REFRAIN_DATA"), "folder of the shared data")
	flag.StringVar(&o.out, "out", "hashcodes", "folder of the model")
	flag.BoolVar(&o.check, "check", false, "compare with the files that are there instead of writing them")
	flag.BoolVar(&o.hash, "hash", false, "print the hashes of words from stdin")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "defaultmodel:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	data, out   string
	check, hash bool
}

func (o *options) run() error {
	if o.hash {
		return printHashes(os.Stdin, os.Stdout)
	}
	if o.data == "" {
		return errors.New("where is the data? set REFRAIN_DATA, or -data")
	}
	made, err := generate(context.Background(), o.data, func(s string) { fmt.Fprintln(os.Stderr, s) })
	if err != nil {
		return err
	}
	put := writeFile
	if o.check {
		put = compareFile
	}
	return errors.Join(put(filepath.Join(o.out, "default.model"), made.model),
		put(filepath.Join(o.out, "default_vocabulary.txt"), made.list))
}

func writeFile(path string, content []byte) error { return os.WriteFile(path, content, 0o644) }

// compareFile says how a file differs from its content.
func compareFile(path string, content []byte) error {
	existing, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(existing, content) {
		return fmt.Errorf("%s is not what the data give: %d bytes, and %d are made of them", path, len(existing), len(content))
	}
	return nil
}

// printHashes writes the hash of each word, as the lists in excluded have them.
func printHashes(in io.Reader, out io.Writer) error {
	var s text.Splitter
	words := bufio.NewScanner(in)
	for words.Scan() {
		pieces, _ := s.Pieces(strings.TrimSpace(words.Text()))
		for _, p := range pieces {
			for _, t := range p.Tokens {
				if _, err := fmt.Fprintf(out, "%016x\n", hashOf(t.Text)); err != nil {
					return err
				}
			}
		}
	}
	return words.Err()
}
