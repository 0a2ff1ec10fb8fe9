//go:build !unix

package main

import "time"

// busy is the time by the wall, where there is no other.
func busy() time.Duration { return time.Since(started) }
