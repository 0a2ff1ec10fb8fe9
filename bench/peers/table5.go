package main

import (
	"context"
	"io"
)

func runTable5(ctx context.Context, args []string, stdout, stderr io.Writer) error { return nil }
