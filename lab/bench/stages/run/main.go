// Command run prints the table of stages of `refrain detect` for a file of posts:
//
//	GOMAXPROCS=1 go run ./lab/bench/stages/run [-span 24h] [-posts N] FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/lab/bench/stages"
)

func main() {
	span := flag.Duration("span", stages.Default().Window.Span, "the window's length")
	posts := flag.Int("posts", 0, "how many posts of the file; 0: all")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	if err := run(*span, *posts, *profile, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(span time.Duration, posts int, profile, path string) error {
	model, err := hashcodes.NewMD5(hashcodes.DefaultBits, hashcodes.DefaultOnes)
	if err != nil {
		return err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	cfg := stages.Default()
	cfg.Path, cfg.Posts = path, posts
	cfg.Window.Span, cfg.Window.Model, cfg.Window.Engine = span, model, detector.Prefix
	t, err := stages.Measure(context.Background(), cfg)
	if err != nil {
		return err
	}
	return t.Write(os.Stdout)
}
