//go:build linux && (amd64 || arm64) && !nocuda

package rates

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// bind opens the driver's library and finds its functions, without cgo.
func bind(library string) (*driver, error) {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("there is no NVIDIA driver: %w", err)
	}
	d := &driver{}
	for name, function := range d.symbols() {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("the NVIDIA driver is too old: %w", err)
		}
		purego.RegisterFunc(function, symbol)
	}
	return d, nil
}
