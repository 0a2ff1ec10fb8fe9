package ingest

import (
	"context"
	"errors"
	"io"
)

// Run hands every batch of a source to handle and acknowledges it with what handle returns. It returns nil when the
// source has no more or ctx ends, else the error that ended the source.
func Run(ctx context.Context, src Source, handle func(context.Context, *Batch) error) error {
	for {
		b, err := src.Next(ctx)
		if !b.Empty() {
			b.Done(handle(ctx, &b))
		}
		if errors.Is(err, io.EOF) || err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
