package tables

import (
	"context"
	"errors"
)

// Table5Options are what Table5 asks besides.
type Table5Options struct{ Rows, Queries int }

// Table5 TODO
func Table5(_ context.Context, _ *Config, _ Table5Options) (*Report, error) {
	return nil, errors.New("go run ./bench/peers table5")
}
