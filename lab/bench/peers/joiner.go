package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"refrain/join"
	"refrain/lab/cpu"
	"refrain/text"
)

// runJoiner is the process of one of our algorithms: "peers join NAME".
func runJoiner(ctx context.Context, name string, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("peers join", flag.ContinueOnError)
	sets := flags.String("sets", "", "file of sets, integers a line")
	measure := flags.String("measure", "jaccard", "jaccard or cosine")
	threshold := flags.String("threshold", "4/5", "as a fraction")
	out := flags.String("out", "", "file for the pairs found")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg, err := joinConfig(name, *measure, *threshold)
	if err != nil {
		return err
	}
	lists, err := readSets(*sets)
	if err != nil {
		return err
	}
	began := cpu.Time()
	pairs, err := joinSets(ctx, cfg, lists)
	if err != nil {
		return err
	}
	r := joinReport{Seconds: (cpu.Time() - began).Seconds(), PeakBytes: peakBytes()}
	if err := writeArray(*out, pairs); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(r)
}

func joinConfig(algorithm, measure, threshold string) (cfg join.Config, err error) {
	cfg = join.Default()
	cfg.Workers = 1
	if cfg.Algorithm, err = join.ParseAlgorithm(algorithm); err != nil {
		return cfg, err
	}
	similarity, err := text.ParseSimilarity(measure)
	if err != nil {
		return cfg, err
	}
	t, err := text.ParseThreshold(threshold)
	cfg.Measure = similarity.At(t)
	return cfg, err
}

// joinSets joins the sets from the slices that they are, as the others do from theirs.
func joinSets(ctx context.Context, cfg join.Config, lists [][]uint64) (pairs []uint32, err error) {
	c := &join.Collection{}
	for _, list := range lists {
		if err := c.Add(list); err != nil {
			return nil, err
		}
	}
	_, err = join.Self(ctx, cfg, c, func(p join.Pair) error {
		pairs = append(pairs, uint32(p.B), uint32(p.A))
		return nil
	})
	return pairs, err
}

func readSets(path string) (sets [][]uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var set []uint64
		for field := range bytes.FieldsSeq(lines.Bytes()) {
			n, err := strconv.ParseUint(string(field), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: set %d: %w", path, len(sets), err)
			}
			set = append(set, n)
		}
		sets = append(sets, set)
	}
	return sets, lines.Err()
}
