package record

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"

	"refrain/lookup"
)

// TestLikeness: by Jaccard the bytes are those that there always were; another measure is named before them.
func TestLikeness(t *testing.T) {
	root := 2 / math.Sqrt(5)
	for want, l := range map[string]lookup.Likeness{
		"0607":               {Jaccard: 6.0 / 7},
		"0101":               {Jaccard: 1},
		"003fd3333333333337": {Jaccard: 0.30000000000000021},
		"00ff06" + hex.EncodeToString([]byte("cosine")) + "003fec9f25c5bfedd9" + "0405": {Jaccard: 0.8, Measure: "cosine", Similarity: root},
		"00ff04" + hex.EncodeToString([]byte("dice")) + "0809" + "0405":                 {Jaccard: 0.8, Measure: "dice", Similarity: 8.0 / 9},
		"00ff06" + hex.EncodeToString([]byte("cosine")) + "0101" + "0101":               {Jaccard: 1, Measure: "cosine", Similarity: 1},
	} {
		b := appendLikeness(nil, &l)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%+v: got %s, want %s", l, got, want)
		}
		d := decoder{b: append(bytes.Clone(b), 7)}
		if got := d.likeness(); got != l || d.bad || len(d.b) != 1 {
			t.Errorf("%+v: read as %+v", l, got)
		}
		for cut := range len(b) {
			if d := (decoder{b: b[:cut]}); d.likeness() != l && d.end() == nil && cut > 0 {
				t.Errorf("%+v: %d of %d bytes are not missed", l, cut, len(b))
			}
		}
	}
}
