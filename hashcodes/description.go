package hashcodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Limits of a model. The lengths bound what a reader accepts from a file.
const (
	MaxOnes    = 8
	maxLearner = 64
	maxTrained = 1 << 20
)

// Description is what a model says about itself.
type Description struct {
	Bits        int    // m: bits of a signature; 32, 64, 128 or 256
	Ones        int    // l: ones of a code; 1 to MaxOnes
	Learner     string // how the codes came about, e.g. "md5"; 1 to 64 bytes
	Seed        uint64 // of the learner's random choices
	TrainedOn   string // a JSON value that says what the codes were learned from; "" for nothing
	TextVersion int    // text.Version of the token ids
}

// validate reports everything that is wrong with d.
func (d *Description) validate() error {
	var errs []error
	if !slices.Contains([]int{32, 64, 128, 256}, d.Bits) {
		errs = append(errs, fmt.Errorf("%d bits: want 32, 64, 128 or 256", d.Bits))
	}
	if d.Ones < 1 || d.Ones > MaxOnes {
		errs = append(errs, fmt.Errorf("%d ones per code: want 1 to %d", d.Ones, MaxOnes))
	}
	if len(d.Learner) < 1 || len(d.Learner) > maxLearner {
		errs = append(errs, fmt.Errorf("learner's name of %d bytes: want 1 to %d", len(d.Learner), maxLearner))
	}
	if len(d.TrainedOn) > maxTrained {
		errs = append(errs, fmt.Errorf("training description of %d bytes: want at most %d", len(d.TrainedOn), maxTrained))
	} else if d.TrainedOn != "" && !json.Valid([]byte(d.TrainedOn)) {
		errs = append(errs, errors.New("training description: not JSON"))
	}
	if d.TextVersion < 0 {
		errs = append(errs, fmt.Errorf("text version %d: want at least 0", d.TextVersion))
	}
	return errors.Join(errs...)
}
