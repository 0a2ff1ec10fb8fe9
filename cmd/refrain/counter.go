package main

import "sync/atomic"

// counter is a number that several goroutines count.
type counter struct{ atomic.Int64 }

func (c *counter) add(n int) { c.Add(int64(n)) }
