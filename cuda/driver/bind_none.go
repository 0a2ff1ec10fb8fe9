//go:build !linux || !(amd64 || arm64) || nocuda

package driver

import "errors"

// Open says that there is no CUDA in this build.
func Open(string) (*Driver, error) {
	return nil, Unavailable(errors.New("this program was built without CUDA (tag nocuda, or not Linux on amd64 or arm64)"))
}
