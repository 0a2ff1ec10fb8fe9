package main

import (
	"context"
	"os"
	"os/signal"
	"testing"

	"refrain/internal/memory"
)

// runMain makes the test binary behave as the program, so that tests can start it, and kill it, as a process.
const runMain = "RUN_REFRAIN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	memory.Frugal()
	program := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(program.Run(ctx, os.Args[1:]))
}
