// Package delays has the buckets of every histogram of how long something takes on its way.
package delays

import "go.opentelemetry.io/otel/metric"

// Buckets are seconds: from a millisecond, which a quiet feed takes, to the ten minutes of an outage. All histograms have
// the same, so that stages can be compared.
func Buckets() metric.HistogramOption {
	return metric.WithExplicitBucketBoundaries(.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
}
