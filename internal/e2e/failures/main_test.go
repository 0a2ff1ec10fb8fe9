// Package failures does to the broker of a deployment what goes wrong with brokers, and looks at what an operator and a
// client are told, and whether the service goes on by itself once it is mended, with the events of detect.
package failures

import (
	"testing"

	"refrain/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
