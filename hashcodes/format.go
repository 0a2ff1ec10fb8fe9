package hashcodes

// A model file, version 1:
//
//	magic         8 bytes   "RFRCODES"
//	version       uvarint   1: of this layout
//	text version  uvarint   text.Version of the token ids
//	m             uvarint   bits of a code: 32, 64, 128 or 256
//	l             uvarint   ones of a code, at most: 1 to 8
//	learner       string    1 to 64 bytes
//	seed          8 bytes   little endian
//	trained on    string    a JSON value of at most 1 MiB, or empty
//	entries       uvarint   size of the vocabulary
//	per entry, by rising token id:
//	  gap         uvarint   token id − previous token id − 1; the first counts from −1, so it is the id itself
//	  frequency   uvarint   below 2³²
//	  ones        1 byte    0 to l: so many positions follow; 255: the hashed code, and none follow
//	  positions   1 byte each, ascending, below m
//	checksum      8 bytes   little endian; xxh3-64 of everything before it
//
// A string is its length in bytes as a uvarint, then the bytes. A uvarint is that of encoding/binary (7 bits a byte,
// low bits first) in its shortest form, so that a model has exactly one file. Nothing follows the checksum.
//
// Worked example, testdata/worked.model: m = 64, l = 2, text version 1, learner "hand", seed 7, trained on
// {"sentences":3}, and the tokens 5 (in 3 sentences, code {1, 40}), 6 (in 2, no ones) and 300 (in 1, hashed):
//
//	52 46 52 43 4f 44 45 53   "RFRCODES"
//	01 01 40 02               version 1, text version 1, m = 64, l = 2
//	04 68 61 6e 64            "hand"
//	07 00 00 00 00 00 00 00   seed 7
//	0f 7b 22 73 65 6e 74 65   {"sentences":3}
//	6e 63 65 73 22 3a 33 7d
//	03                        three entries
//	05 03 02 01 28            5: gap 5, in 3 sentences, 2 ones, at 1 and 40
//	00 02 00                  6: gap 0, in 2 sentences, no ones
//	a5 02 01 ff               300: gap 293, in 1 sentence, hashed
//	84 42 60 d2 6e 7c af 80   checksum
const (
	magic         = "RFRCODES"
	formatVersion = 1
	hashedCode    = 255
)
