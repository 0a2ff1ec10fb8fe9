//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"flag"
	"slices"
	"testing"

	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

var every = flag.Bool("every", false, "try every case of the suite by every kernel, not by one after the other: two minutes")

// scanner makes a device what the suite of all scans tries: tables in host memory, which it takes to the device first.
type scanner struct {
	tb      testing.TB
	device  *Device
	kernels []*kernel // used in turn
	singles int       // one in so many single queries, of which the suite has very many, is not left to plain Go
	turn    int
	planes  [][]uint32 // those on the device
	rows    *Rows
}

var _ hammingtest.Scanner = (*scanner)(nil)

func (s *scanner) Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	if s.turn++; s.turn%s.singles != 0 {
		return hamming.Scan(hits, planes, query, radius)
	}
	queries := []hamming.Query{{Signature: query, Radius: radius, Hits: hits}}
	s.ScanBlock(planes, queries)
	return queries[0].Hits
}

func (s *scanner) ScanBlock(planes [][]uint32, queries []hamming.Query) {
	s.upload(planes)
	s.turn++
	k := s.kernels[s.turn%len(s.kernels)]
	if err := s.device.scanQueries(s.rows, 0, s.rows.Len(), queries, k); err != nil {
		s.tb.Fatal(err)
	}
}

// upload brings planes to the device, unless they are there.
func (s *scanner) upload(planes [][]uint32) {
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

// The suite of all scans, through host and device code.
func TestSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("the suite takes long; TestJobs tries the same kernels")
	}
	d := newFake(t).openAll(t)
	if !*every {
		hammingtest.Run(t, &scanner{tb: t, device: d, kernels: d.kernels, singles: 17})
		return
	}
	for _, k := range d.kernels {
		t.Run(k.name, func(t *testing.T) {
			hammingtest.Run(t, &scanner{tb: t, device: d, kernels: []*kernel{k}, singles: 1})
		})
	}
}
