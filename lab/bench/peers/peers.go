package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"refrain/text"
)

//go:embed python/*.py
var scripts embed.FS

// peer is one row of the table: a program that is given a collection and says which pairs it finds.
type peer struct {
	name, what string
	program    program
	args       []string
	radius     bool                 // it wants --radius
	rows       func(o *options) int // how many of the rows it is given; nil: all
	every      func(o *options) int // it looks only every so-many-th row up; nil: every one
	unlimited  bool                 // it may take as long as it takes
}

// program is what runs a peer.
type program int

const (
	self          program = iota // this program, as "engine NAME"
	python                       // a script, in the environment that install made
	stringsimjoin                // a script, in the one that it made for py_stringsimjoin
	goPeer                       // a binary that install made
)

// peers are all rows of the table, in its order: our own engines, then the others.
func peers() (all []peer) {
	for _, e := range engines {
		all = append(all, peer{name: e.name, what: e.what, program: self, args: []string{"engine", e.name},
			unlimited: e.name == yardstick})
	}
	return append(all,
		peer{name: "faiss-flat", what: "FAISS IndexBinaryFlat", program: python,
			args: []string{"faiss_binary.py", "--index", "flat"}, radius: true, every: (*options).sparsely},
		peer{name: "faiss-hash", what: "FAISS IndexBinaryHash", program: python,
			args: []string{"faiss_binary.py", "--index", "hash"}, radius: true},
		peer{name: "faiss-multihash", what: "FAISS IndexBinaryMultiHash", program: python,
			args: []string{"faiss_binary.py", "--index", "multihash"}, radius: true},
		peer{name: "rensa-16", what: "rensa RMinHashLSH, 16 bands", program: python,
			args: []string{"minhash_rensa.py", "--bands", "16"}},
		peer{name: "rensa-32", what: "rensa RMinHashLSH, 32 bands", program: python,
			args: []string{"minhash_rensa.py", "--bands", "32"}},
		peer{name: "gaoya", what: "gaoya MinHashStringIndex", program: python,
			args: []string{"minhash_gaoya.py"}},
		peer{name: "datasketch", what: "datasketch MinHashLSH", program: python,
			args: []string{"minhash_datasketch.py"}},
		peer{name: "minhash-lsh", what: "ekzhu/minhash-lsh (Go)", program: goPeer,
			args: []string{"minhashlsh"}, rows: (*options).maxSlowRows},
	)
}

// maxSlowRows is how many rows a peer gets that takes all before it looks the first one up, and is slow at that.
func (o *options) maxSlowRows() int { return o.slowRows }

// sparsely lets a scan of everything look up 80,000 rows, evenly spread, while it takes in all.
func (o *options) sparsely() int { return max(1, o.rows/80_000) }

// result is what became of a peer.
type result struct {
	Peer         string  `json:"peer"`
	What         string  `json:"what"`
	Threshold    string  `json:"threshold"`
	Skipped      string  `json:"skipped,omitempty"` // why it did not run
	Every        int     `json:"every"`
	TotalSeconds float64 `json:"totalSeconds"` // of the process: start, reading and writing too
	report
	score
}

// microseconds is the time of one row: to take it in and to look it up.
func (r *result) microseconds() float64 {
	if r.Rows == 0 || r.Looked == 0 {
		return 0
	}
	return 1e6 * (r.SecondsAdding/float64(r.Rows) + r.SecondsLooking/float64(r.Looked))
}

// atRows is what a row took on average when there were so many; 0 if that was not recorded.
func (r *result) atRows(rows int) float64 {
	before := point{}
	for _, p := range r.Growth {
		if p.Rows >= rows {
			share := float64(rows-before.Rows) / float64(p.Rows-before.Rows)
			return 1e6 * (before.Seconds + share*(p.Seconds-before.Seconds)) / float64(rows)
		}
		before = p
	}
	return 0
}

// peerDirs is where the peers are and what they are given.
type peerDirs struct {
	cache  string // of install
	folder string // of the collection, with the scripts below it
}

func newPeerDirs(folder string) (peerDirs, error) {
	cache := os.Getenv("REFRAIN_PEERS")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return peerDirs{}, err
		}
		cache = filepath.Join(home, ".cache", "refrain-peers")
	}
	return peerDirs{cache, folder}, writeScripts(filepath.Join(folder, "python"))
}

func writeScripts(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files, err := scripts.ReadDir("python")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := scripts.ReadFile("python/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, f.Name()), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// command is the program of a peer with its own arguments. An error says why the peer cannot run.
func (p peerDirs) command(ctx context.Context, of program, args []string) (*exec.Cmd, error) {
	switch of {
	case python, stringsimjoin:
		environment := map[program]string{python: "venv", stringsimjoin: "stringsimjoin"}[of]
		interpreter := filepath.Join(p.cache, environment, "bin", "python")
		script := filepath.Join(p.folder, "python", args[0])
		if err := p.imports(ctx, interpreter, script); err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, interpreter, append([]string{script}, args[1:]...)...), nil
	case goPeer:
		binary := filepath.Join(p.cache, "bin", args[0])
		if _, err := os.Stat(binary); err != nil {
			return nil, errors.New("not built: run lab/bench/peers/install")
		}
		return exec.CommandContext(ctx, binary, args[1:]...), nil
	default:
		binary, err := os.Executable()
		return exec.CommandContext(ctx, binary, args...), err
	}
}

// imports asks a script for its help, so that what it imports must be there.
func (p peerDirs) imports(ctx context.Context, interpreter, script string) error {
	if _, err := os.Stat(interpreter); err != nil {
		return errors.New("no Python environment: run lab/bench/peers/install")
	}
	if out, err := exec.CommandContext(ctx, interpreter, script, "--help").CombinedOutput(); err != nil {
		return fmt.Errorf("%s: run lab/bench/peers/install", lastLine(out))
	}
	return nil
}

// oneThread are the variables by which the peers' libraries are held to one thread.
func oneThread() []string {
	env := os.Environ()
	for _, name := range []string{"GOMAXPROCS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
		"RAYON_NUM_THREADS"} {
		env = append(env, name+"=1")
	}
	return env
}

// run runs a peer at a threshold, and reads what it reports. A peer that cannot run is skipped, with the reason.
func (p peerDirs) run(ctx context.Context, w peer, o *options, t text.Threshold) (r result, pairs []pair, err error) {
	r = result{Peer: w.name, What: w.what, Threshold: fraction(t), Every: 1}
	out := filepath.Join(p.folder, "pairs")
	args := append(w.args[:len(w.args):len(w.args)], "--data", p.folder, "--threshold", fraction(t), "--out", out,
		"--rows", strconv.Itoa(w.rowCount(o)))
	if w.every != nil {
		r.Every = w.every(o)
		args = append(args, "--every", strconv.Itoa(r.Every))
	}
	if w.radius {
		args = append(args, "--radius", strconv.Itoa(o.radiusOf(t)))
	}
	if !w.unlimited {
		args = append(args, "--limit", fmt.Sprint(o.limit.Seconds()))
	}
	cmd, err := p.command(ctx, w.program, args)
	if err != nil {
		r.Skipped = err.Error()
		return r, nil, ctx.Err()
	}
	began := time.Now()
	if err := output(cmd, &r.report); err != nil {
		if ctx.Err() != nil {
			return r, nil, ctx.Err()
		}
		r.Skipped = err.Error()
		return r, nil, nil
	}
	r.TotalSeconds = time.Since(began).Seconds()
	pairs, err = readPairs(out)
	return r, pairs, err
}

func (w peer) rowCount(o *options) int {
	if w.rows == nil {
		return o.rows
	}
	return min(o.rows, w.rows(o))
}

// output runs a command of one thread and decodes the JSON that it prints.
func output(cmd *exec.Cmd, into any) error {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &stdout, &stderr, oneThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("it failed: %w: %s", err, lastLine(stderr.Bytes()))
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		return fmt.Errorf("its report: %w", err)
	}
	return nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// fraction writes a threshold as the peers read it, 1 as well.
func fraction(t text.Threshold) string { return fmt.Sprintf("%d/%d", t.Num, t.Den) }
