//go:build !linux || !(amd64 || arm64) || nocuda

package cuda

import "errors"

func bind(string) (*driver, error) {
	return nil, unavailable{errors.New("this program was built without CUDA (tag nocuda, or not Linux on amd64 or arm64)")}
}
