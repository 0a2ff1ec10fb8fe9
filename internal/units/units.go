// Package units reads quantities as people write them in flags and configuration, and writes them for people to read.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDays is the most that ParseDuration reads: time.Duration ends some 7,000 days later.
const maxDays = 100_000

// ParseDuration reads what time.ParseDuration reads, and days: 7d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	number, rest, inDays := strings.Cut(s, "d")
	if !inDays {
		number, rest = "0", s
	} else if rest == "" {
		rest = "0"
	}
	days, errDays := strconv.ParseFloat(number, 64)
	d, err := time.ParseDuration(rest)
	large := err != nil && isTooLarge(rest)
	if errDays != nil || !(days >= 0) || err != nil && !large { // not NaN either
		return 0, fmt.Errorf("duration %q: want something like 90m, 24h or 7d", s)
	}
	whole := time.Duration(min(days, maxDays) * 24 * float64(time.Hour))
	if large || days > maxDays || d > math.MaxInt64-whole {
		return 0, fmt.Errorf("duration %q is too large: want %dd or less", s, maxDays)
	}
	return whole + d, nil
}

// isTooLarge reports whether what time.ParseDuration refuses is well written but for its digits.
func isTooLarge(s string) bool {
	zeros := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, s)
	_, err := time.ParseDuration("1h" + zeros) // alone 0 wants no unit
	return err == nil && s != ""
}

// FormatDuration writes a duration without its empty parts, as people do: 24h, 5m, 1h30m.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var sizes = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"B", 1}, {"", 1},
}

// ParseBytes reads a number of bytes: 65536, 64MB, 1.5GiB, in either case.
func ParseBytes(s string) (int64, error) {
	for _, size := range sizes {
		number, ok := cutSuffixFold(s, size.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		n *= size.bytes
		// not NaN either, nor half a byte, which would be 0: no limit
		if err != nil || !(n == 0 || n >= 1 && n <= math.MaxInt64/2) {
			break
		}
		return int64(n), nil
	}
	return 0, fmt.Errorf("size %q: want something like 65536, 64MB or 1.5GiB", s)
}

// MinBudget is the smallest budget that a window can do with, in bytes. Less is a unit that was forgotten.
const MinBudget = 1_000_000

// MinBytes says how many bytes a size was read as, and how megabytes are written, where it is less than makes sense.
func MinBytes(n, minimum int64) error {
	if n >= minimum {
		return nil
	}
	return fmt.Errorf("%d bytes: want %s or more, and megabytes are written 32MB", n, FormatLeastBytes(minimum))
}

// CheckBudget refuses a window's budget that is too small to be meant; 0 is none.
func CheckBudget(n int64) error {
	if n == 0 {
		return nil
	}
	return MinBytes(n, MinBudget)
}

func cutSuffixFold(s, suffix string) (string, bool) {
	n := len(s) - len(suffix)
	if n < 0 || !strings.EqualFold(s[n:], suffix) {
		return s, false
	}
	return s[:n], true
}
