package clocks

import (
	"strings"
	"testing"
	"time"
)

// TestAhead: what a request's way may account for is no difference.
func TestAhead(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }
	for _, x := range []struct{ sent, stamped, received, want int }{
		{0, 0, 0, 0}, {0, 5, 10, 0}, {0, 10, 10, 0}, {0, -1, 10, 1}, {0, 11, 10, -1}, {4000, 2, 4010, 3998}, {-4000, 2, -3990, -3992},
	} {
		if got := Ahead(at(x.sent).Add(time.Microsecond), at(x.stamped), at(x.received)); got != time.Duration(x.want)*time.Millisecond {
			t.Errorf("%+v: got %v", x, got)
		}
	}
}

// TestCheck says which way the clock is wrong.
func TestCheck(t *testing.T) {
	if Check(10*time.Second, 10*time.Second) != nil || Check(-10*time.Second, 10*time.Second) != nil {
		t.Error("the limit itself is refused")
	}
	for ahead, says := range map[time.Duration]string{11 * time.Second: "11s ahead of", -11 * time.Second: "11s behind"} {
		if err := Check(ahead, 10*time.Second); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", ahead, err)
		}
	}
}
