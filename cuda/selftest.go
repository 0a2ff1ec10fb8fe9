package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"refrain/hashcodes/hamming"
)

// selfTest compares every kernel with plain Go and keeps those that are right.
func (d *Device) selfTest() error {
	var passed []*kernel
	for _, k := range d.kernels {
		err := d.test(k)
		if errors.Is(err, ErrDeviceLost) || errors.Is(err, ErrMemory) {
			return fmt.Errorf("test kernel %s: %w", k.name, err)
		}
		if err != nil {
			d.log.Error("cuda kernel not offered", "device", d.name, "kernel", k.name, "err", err)
			continue
		}
		passed = append(passed, k)
	}
	if d.kernels = passed; len(passed) == 0 {
		return unavailable{errors.New("no kernel gives the results of plain Go")}
	}
	return nil
}

// test scans signatures of every width that has a function of its own, and some between.
func (d *Device) test(k *kernel) error {
	for _, words := range []int{1, 2, 3, 4, 7, 8, 16, 32} {
		if err := d.testWidth(k, words); err != nil {
			return fmt.Errorf("%d words: %w", words, err)
		}
	}
	return nil
}

// testWidth has rows of which the first, the last, and those at the edges of tiles are near to a query, and radii from
// none to all.
func (d *Device) testWidth(k *kernel, words int) error {
	random := rand.New(rand.NewPCG(uint64(words), 2))
	const n = chunkUnit + 129
	planes := randomPlanes(random, words, n)
	queries := randomQueries(random, words, 11, 0)
	for i, row := range []int{0, 127, 128, 129, 1023, 1024, n - 130, n - 129, n - 128, n - 2, n - 1} {
		q := &queries[i]
		for w := range words {
			planes[w][row] = q.Signature[w]
		}
		planes[words-1][row] ^= 1<<31 | 1<<(i%31)
		q.Radius = i % 4
	}
	queries[0].Radius, queries[1].Radius = 16*words, 32*words
	rows := d.newRows(words, 0)
	defer func() { _ = rows.Free() }() // a device that fails here fails below
	if err := rows.Append(planes); err != nil {
		return err
	}
	if err := d.scanQueries(rows, 1, n, queries, k); err != nil {
		return err
	}
	return compareWith(planes, 1, queries)
}

// compareWith wants the hits that plain Go finds in rows from on.
func compareWith(planes [][]uint32, from int, queries []hamming.Query) error {
	reference := hamming.Kernels()[0]
	part := make([][]uint32, len(planes))
	for w := range planes {
		part[w] = planes[w][from:]
	}
	for i, q := range queries {
		want := reference.Scan(nil, part, q.Signature, q.Radius)
		for n := range want {
			want[n] += uint32(from)
		}
		if !slices.Equal(q.Hits, want) {
			return fmt.Errorf("query %d, radius %d: %d hits, plain Go has %d", i, q.Radius, len(q.Hits), len(want))
		}
	}
	return nil
}
