package record

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metered counts the bytes of values that go to and fro: they tell what an event costs.
type metered struct {
	Backend
	bytes metric.Int64Counter
}

func newMetered(b Backend) (*metered, error) {
	bytes, err := otel.Meter("refrain/lookup").Int64Counter("refrain_lookup_values", metric.WithUnit("By"),
		metric.WithDescription("Bytes of the index's records, by operation: load or write"))
	if err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	m := &metered{b, bytes}
	m.count(context.Background(), "load", 0) // there from the start
	m.count(context.Background(), "write", 0)
	return m, nil
}

func (m *metered) count(ctx context.Context, operation string, n int) {
	m.bytes.Add(ctx, int64(n), metric.WithAttributes(attribute.String("operation", operation)))
}

// Load implements Backend.
func (m *metered) Load(ctx context.Context, keys []string) ([][]byte, error) {
	values, err := m.Backend.Load(ctx, keys)
	n := 0
	for _, v := range values {
		n += len(v)
	}
	m.count(ctx, "load", n)
	return values, err
}

// Write implements Backend.
func (m *metered) Write(ctx context.Context, b *Batch) error {
	n := 0
	for i := range b.Values {
		n += len(b.Values[i].Data)
	}
	m.count(ctx, "write", n)
	return m.Backend.Write(ctx, b)
}
