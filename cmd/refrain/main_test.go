package main

import (
	"os"
	"testing"

	"refrain/internal/cli"
	"refrain/internal/memory"
)

const (
	exitFailure = cli.ExitFailure
	exitUsage   = cli.ExitUsage
)

// runMain makes the test binary behave as the program, so that tests can start it, and kill it, as a process.
const runMain = "RUN_REFRAIN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) == "" {
		os.Exit(m.Run())
	}
	memory.Frugal()
	program := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cli.Exit(program.Run)
}

// skipShort leaves a long test out of the run with the race detector: what it does at once is done by packages that have
// tests of their own.
func skipShort(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
}
