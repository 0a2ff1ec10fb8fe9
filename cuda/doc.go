// Package cuda is the Hamming range scan on an NVIDIA GPU: it finds the rows of tables of signatures that lie within a
// radius of a query, as hashcodes/hamming does, whose plain Go says what is right.
//
// A Device is one GPU. Rows is a table in its memory that grows at the end. A Batch is queries, and jobs: rows of tables
// that some of the queries are compared with. All of it is one launch. Queries and rows are of classes, such as the number
// of tokens, and two classes have a radius:
//
//	d, err := cuda.Open(cuda.Default())
//	rows, err := d.NewRows(2, 0)                  // signatures of two words of 32 bits
//	err = rows.Append(planes)                     // planes[w][row], as for hamming.Scan
//	var b cuda.Batch
//	b.Reset(2, 1, 1)                              // one class of rows, one of queries
//	b.SetRadius(0, 0, 6)
//	b.AddQuery(signature, 0)
//	b.AddJob(cuda.Job{Rows: rows, To: rows.Len(), Last: 1})
//	err = d.Scan(&b, func(h cuda.Hit) { ... })
//
// A query may know its tokens (Hold). Then a row within the radius is a hit if it also passes the test of hashcodes.Holders.
//
// Start and Wait are Scan in two, so that the next batch can be made while the device is at one.
//
// The driver, libcuda.so.1, is looked for when Open is called: a program that holds this package runs without one. Builds
// with the tag nocuda, and those for anything but Linux on amd64 and arm64, look for none, and Open says so.
//
// Errors: ErrMemory means that something does not fit the budget; the device goes on, and rows that were not taken in can
// be kept elsewhere. ErrDeviceLost means that the device cannot be relied on any more, for whatever reason: all its rows
// are gone, every later call fails the same way, and whoever uses it falls back to the CPU. What a failed scan has shown is
// not all.
//
// The kernels are the .cu files of this folder, the .ptx files beside them what the driver compiles for its GPU;
// docs/design/0006-cuda.md says why they are as they are.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package cuda

//go:generate ./generate
