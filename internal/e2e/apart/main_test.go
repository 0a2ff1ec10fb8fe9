package apart

import (
	"testing"

	"refrain/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
