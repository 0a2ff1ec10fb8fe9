package publish

import (
	"testing"
	"time"
)

const ReadersAtOnce = maxReaders

// SetReaderTurn makes the turns of readers shorter in a test.
func SetReaderTurn(t *testing.T, d time.Duration) {
	before := readerTurn
	readerTurn = d
	t.Cleanup(func() { readerTurn = before })
}
