package main

import "time"

var started = time.Now()
