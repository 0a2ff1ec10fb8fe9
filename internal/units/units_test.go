package units

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour,
		"0.5d": 12 * time.Hour, "0": 0, "0d": 0, "87600h": 87600 * time.Hour, "-5m": -5 * time.Minute, "1ms": time.Millisecond,
	} {
		got, err := ParseDuration(s)
		if err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

func TestParseDurationRefuses(t *testing.T) {
	for _, s := range []string{
		"", "d", "7", "seven days", "7 d", "-1d", "1d1d", "NaNd", "200000d1d", "9999999x", "5", "9999999h1d", "1week", "1d-", "12h1d",
	} {
		got, err := ParseDuration(s)
		if err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", s, got)
		} else if !strings.Contains(err.Error(), "7d") {
			t.Errorf("ParseDuration(%q): %q shows no example", s, err)
		}
	}
}

// TestParseDurationTooLarge: what is well written and too large is told the largest, which is read.
func TestParseDurationTooLarge(t *testing.T) {
	for _, s := range []string{"200000d", "1000000d", "100000d999999h", "9999999h", "1e9d", "99999d9999999999h30m"} {
		got, err := ParseDuration(s)
		if err == nil || !strings.Contains(err.Error(), "too large: want 100000d or less") {
			t.Errorf("ParseDuration(%q) = %v, %v", s, got, err)
		}
	}
	if got, err := ParseDuration("100000d"); err != nil || got != 100_000*24*time.Hour {
		t.Errorf("%v, %v", got, err)
	}
}

// TestParseDurationReadsWhatGoWrites, which is how the configuration is printed.
func TestParseDurationReadsWhatGoWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64().Draw(t, "d"))
		got, err := ParseDuration(want.String())
		if err != nil || got != want {
			t.Fatalf("ParseDuration(%q) = %v, %v", want.String(), got, err)
		}
	})
}

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "65536": 65536, "64MB": 64_000_000, "64mb": 64_000_000, "64M": 64_000_000, "64 MiB": 64 << 20, "1.5GiB": 3 << 29,
		"2kib": 2048, "1k": 1000, "8GB": 8e9, "1TiB": 1 << 40, "1T": 1e12, "7B": 7,
	} {
		got, err := ParseBytes(s)
		if err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
}

func TestParseBytesRefuses(t *testing.T) {
	for _, s := range []string{"", "B", "MB", "-1", "-64MB", "64XB", "1e30", "10000000TB", "NaN", "Inf", "lots"} {
		got, err := ParseBytes(s)
		if err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", s, got)
		} else if !strings.Contains(err.Error(), "64MB") {
			t.Errorf("ParseBytes(%q): %q shows no example", s, err)
		}
	}
}

func TestParseBytesReadsWholeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Above 2^53 a number of bytes is rounded like any float: nobody asks for such a limit exactly.
		want := rapid.Int64Range(0, 1<<53).Draw(t, "n")
		got, err := ParseBytes(strconv.FormatInt(want, 10))
		if err != nil || got != want {
			t.Fatalf("ParseBytes(%d) = %d, %v", want, got, err)
		}
	})
}

// TestParseBytesReadsFormatBytes up to what it knows, to the one decimal that is written.
func TestParseBytesReadsFormatBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(0, 999e12).Draw(t, "n")
		got, err := ParseBytes(FormatBytes(want))
		if err != nil || math.Abs(float64(got-want)) > 0.051*float64(want) {
			t.Fatalf("ParseBytes(%q) = %d, %v; want about %d", FormatBytes(want), got, err, want)
		}
	})
}

// TestFormatLeastBytes: who gives what a message wants has enough, and hardly more.
func TestFormatLeastBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.Int64Range(0, 999e12).Draw(t, "n")
		if got, err := ParseBytes(FormatLeastBytes(least)); err != nil || got < least || float64(got-least) > 0.1*float64(least) {
			t.Fatalf("ParseBytes(%q) = %d, %v; want %d or a little more", FormatLeastBytes(least), got, err, least)
		}
	})
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 64_000_000: "64.0 MB", 1 << 30: "1.1 GB", 8e12: "8.0 TB",
		math.MaxInt64: "9223.4 PB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCheckBudget(t *testing.T) {
	for n, want := range map[int64]string{
		0: "", MinBudget: "", 32_000_000: "",
		1: "1 bytes: want 1.0 MB or more, and megabytes are written 32MB", 32: "32 bytes: ", 999_999: "999999 bytes: ",
	} {
		if err := CheckBudget(n); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("CheckBudget(%d): got %v, want %q", n, err, want)
		}
	}
}

func TestThree(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.00", 1234.5: "1,235", 12.34: "12.3", 1.234: "1.23", 0.1234: "0.123", 0.0000123: "0.0000123",
	} {
		if got := Three(f); got != want {
			t.Errorf("Three(%g) = %s, want %s", f, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 99_949: "99.9 kB", 99_951: "100 kB",
		999_499: "999 kB", 999_500: "1.0 MB", 1 << 62: "4.6 EB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		24 * time.Hour: "24h", 5 * time.Minute: "5m", 90 * time.Minute: "1h30m", 30 * time.Second: "30s", 0: "0s",
		time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 10 * time.Second: "10s", 1500 * time.Millisecond: "1.5s",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestCountAndSeconds(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 999: "999", 1234: "1.23 k", 56_789: "56.8 k", 999_600: "1000 k", 5e6: "5 M", 1.25e9: "1.25 G", 3e15: "3000 T",
	} {
		if got := Count(v); got != want {
			t.Errorf("Count(%g) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0 µs", 4.26e-6: "4.3 µs", 0.0123: "12 ms", 1.26: "1.3 s", 234: "230 s"} {
		if got := Seconds(v); got != want {
			t.Errorf("Seconds(%g) = %s, want %s", v, got, want)
		}
	}
}
