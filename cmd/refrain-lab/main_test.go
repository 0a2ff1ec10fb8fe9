package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"refrain/internal/cli"
	"refrain/internal/memory"
	"refrain/lab/product"
)

// runMain makes the test binary behave as the program, which starts itself for some tables.
const runMain = "RUN_REFRAIN_LAB_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) == "" {
		status := m.Run()
		removeProduct()
		os.Exit(status)
	}
	memory.Frugal()
	program := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cli.Exit(program.Run)
}

// built is refrain, made once for all tests.
var built = sync.OnceValues(func() (*product.Binary, error) {
	b, err := product.Build(context.Background())
	removeProduct = b.Remove
	return b, err
})

var removeProduct = func() {}

// useProduct puts refrain on PATH, made from this source.
func useProduct(t *testing.T) {
	t.Helper()
	b, err := built()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(b.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
}
