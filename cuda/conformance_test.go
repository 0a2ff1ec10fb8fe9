//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"slices"
	"testing"

	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

// scanner makes a device what the suite of all scans tries: tables in host memory, which it takes to the device first.
type scanner struct {
	tb     testing.TB
	device *Device
	planes [][]uint32 // those on the device
	rows   *Rows
}

var _ hammingtest.Scanner = (*scanner)(nil)

func (s *scanner) Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	queries := []hamming.Query{{Signature: query, Radius: radius, Hits: hits}}
	s.ScanBlock(planes, queries)
	return queries[0].Hits
}

func (s *scanner) ScanBlock(planes [][]uint32, queries []hamming.Query) {
	s.take(planes)
	if err := s.device.Scan([]Job{{Rows: s.rows, To: s.rows.Len(), Queries: queries}}); err != nil {
		s.tb.Fatal(err)
	}
}

// take brings planes to the device, unless they are there.
func (s *scanner) take(planes [][]uint32) {
	if s.rows != nil && slices.EqualFunc(planes, s.planes, slices.Equal[[]uint32]) {
		return
	}
	if s.rows != nil {
		if err := s.rows.Free(); err != nil {
			s.tb.Fatal(err)
		}
	}
	s.planes = nil
	for _, plane := range planes {
		s.planes = append(s.planes, slices.Clone(plane))
	}
	s.rows = MustRows(s.tb, s.device, planes)
}

// MustRows is a table of these rows.
func MustRows(tb testing.TB, d *Device, planes [][]uint32) *Rows {
	tb.Helper()
	rows, err := d.NewRows(len(planes), 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := rows.Append(planes); err != nil {
		tb.Fatal(err)
	}
	return rows
}

// The suite of all scans, through host and device code, for every kernel.
func TestKernels(t *testing.T) {
	f := newFake(t)
	for _, kernel := range []string{"popcount", "imma", "bmma", "paper"} {
		t.Run(kernel, func(t *testing.T) {
			d := f.open(t, Config{Kernel: kernel})
			hammingtest.Run(t, &scanner{tb: t, device: d})
		})
	}
}
