//go:build !linux || !(amd64 || arm64) || nocuda

package cuda

import "fmt"

func bind(string) (*driver, error) {
	return nil, fmt.Errorf("%w: this program was built without CUDA (tag nocuda, or not Linux on amd64 or arm64)", ErrUnavailable)
}
