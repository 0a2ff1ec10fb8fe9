//go:build !(linux && (amd64 || arm64)) || nocuda

package rates

import "errors"

func bind(string) (*driver, error) {
	return nil, errors.New("this build looks for no GPU")
}
