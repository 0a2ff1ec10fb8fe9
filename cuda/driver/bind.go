//go:build linux && (amd64 || arm64) && !nocuda

package driver

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"
)

// Open opens the driver's library and finds its functions, without cgo.
func Open(library string) (*Driver, error) {
	runtime.LockOSThread() // what went wrong is told to the thread that asked
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, Unavailable(fmt.Errorf("there is no NVIDIA driver: %w", err))
	}
	d := &Driver{}
	for name, function := range d.symbols() {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, Unavailable(fmt.Errorf("the NVIDIA driver is too old: %w", err))
		}
		purego.RegisterFunc(function, symbol)
	}
	return d, nil
}
