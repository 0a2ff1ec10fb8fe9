package check_test

import (
	"errors"
	"testing"
	"time"

	"refrain/internal/check"
)

func TestGood(t *testing.T) {
	err := errors.Join(check.AtLeast(1, "queue", 1), check.Positive("timeout", time.Nanosecond),
		check.Set("topic", true), check.OneOf("start", "b", "a", "b"))
	if err != nil {
		t.Error(err)
	}
}

func TestBad(t *testing.T) {
	err := errors.Join(check.AtLeast(1, "queue", 0), check.Positive("timeout", 0), check.Set("topic", false),
		check.OneOf("start", "c", "a", "b"))
	want := "queue: 0, want 1 or more\ntimeout: 0s, want a time above 0\ntopic is not set\nstart \"c\": want a or b"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
