package feed

import "testing"

// TestVectors holds the canonical bytes and the hash to values computed by another program (Python's hashlib). If one of
// these changes, so must text.Version.
func TestVectors(t *testing.T) {
	group := GroupHash([]uint64{0x97dde803c6f6d225, 0xbce122e6d607d1ae}) // "hello", "world"
	if want := "61d4ea4313836b311b48ad0d00d2d316"; group.String() != want {
		t.Errorf("group %v, want %s", group, want)
	}
	other, err := ParseHash("f76b5bbbc8b70428deea6d8f50ef748e")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := EventID("near", "x", "p9", 3, group, other), "345b70775d1e1c3d3fe4eb73b2114100"; got.String() != want {
		t.Errorf("event %v, want %s", got, want)
	}
}
