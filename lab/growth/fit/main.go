// Command fit makes lab/growth/model.json: what the sentences of a feed are like.
//
//	go run ./lab/growth/fit -data ../shared/data > lab/growth/model.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	data := flag.String("data", os.Getenv("REFRAIN_DATA"), "folder of the data set")
	rounds := flag.Int("rounds", 14, "times that sentences are made up and compared with real ones")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *data, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, data string, rounds int) error {
	if data == "" {
		return errors.New("where is the data? set REFRAIN_DATA, or -data")
	}
	real, err := read(ctx, filepath.Join(data, "stream"))
	if err != nil {
		return err
	}
	m := begin(real)
	fitSpread(m, real)
	for i := range m.Components {
		if err := fitPart(ctx, m, real, i, rounds); err != nil {
			return err
		}
	}
	if err := fitMixture(ctx, m, real, 4); err != nil {
		return err
	}
	if err := fitCopies(ctx, m, real); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	return out.Encode(m)
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
