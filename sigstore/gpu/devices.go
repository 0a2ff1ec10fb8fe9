package gpu

import (
	"sync"
	"sync/atomic"

	"refrain/cuda"
	"refrain/sigstore"
)

// Devices are GPUs that share the windows of a process. A window is on one of them for as long as its index lives, and one
// that is lost takes no other window with it. Any goroutine may use them.
type Devices struct {
	dealing sync.Mutex // one at a time sees who has the fewest windows
	cards   []*card

	measuring sync.Mutex // for the cards' speeds
}

// card is a device and what its windows know together: a window makes itself a new index now and then.
type card struct {
	device  *cuda.Device
	lost    atomic.Bool
	full    sync.Once // told that the device has no room
	windows atomic.Int64
	speeds  map[int]Speed // by words of a signature
}

// Engine is the engine of windows on the devices; cfg.Device is theirs. A window gets the device with the fewest.
func (d *Devices) Engine(cfg Config) sigstore.Engine {
	return func(rows sigstore.Rows) sigstore.Index { return newIndex(cfg, d.deal(), rows) }
}

// deal chooses the device for a window: of those that are not lost, as long as there are any, the one with the fewest.
func (d *Devices) deal() *card {
	d.dealing.Lock()
	defer d.dealing.Unlock()
	best := d.cards[0]
	for _, c := range d.cards[1:] {
		if c.comesBefore(best) {
			best = c
		}
	}
	best.windows.Add(1)
	return best
}

func (c *card) comesBefore(other *card) bool {
	if lost := c.lost.Load(); lost != other.lost.Load() {
		return !lost
	}
	return c.windows.Load() < other.windows.Load()
}
