package explain

import (
	"encoding/hex"

	"refrain/hashcodes"
	"refrain/text"
)

// Tokens are the normalised strings, in order.
func Tokens(tokens []text.Token) []string {
	texts := make([]string, len(tokens))
	for i, t := range tokens {
		texts[i] = t.Text
	}
	return texts
}

// IDs are what the tokens are known by, in order.
func IDs(tokens []text.Token) []uint64 {
	ids := make([]uint64, len(tokens))
	for i, t := range tokens {
		ids[i] = text.ID(t.Text)
	}
	return ids
}

// Hex is a signature as it is shown: most significant word last, each word's bytes little endian.
func Hex(sig hashcodes.Signature) string {
	var b []byte
	for _, w := range sig {
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return hex.EncodeToString(b)
}
