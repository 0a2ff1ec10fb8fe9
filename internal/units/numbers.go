package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Thousands writes n with a comma before every three digits.
func Thousands[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Bytes writes n in the largest unit, of powers of 1000, that leaves at least 1: 5.2 MB, 640 MB.
func Bytes(n int64) string {
	value, unit := float64(n), 0
	for value >= 999.5 && unit < len(decimal)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 || value >= 99.95 {
		return fmt.Sprintf("%.0f %s", value, decimal[unit])
	}
	return fmt.Sprintf("%.1f %s", value, decimal[unit])
}

// FormatBytes writes a number of bytes with one decimal, in petabytes at most: 64.0 MB.
func FormatBytes(n int64) string {
	v, i := float64(n), 0
	for ; v >= 1000 && decimal[i] != "PB"; i++ {
		v /= 1000
	}
	if i == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + decimal[i]
}

// FormatLeastBytes is FormatBytes for a number that is wanted at least: what it writes is no less.
func FormatLeastBytes(n int64) string {
	step := int64(1)
	for n/step >= 1000 {
		step *= 1000
	}
	step = max(1, step/10)
	return FormatBytes((n + step - 1) / step * step)
}

var decimal = []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}

// Three writes a figure with three digits that count.
func Three(f float64) string {
	switch {
	case f >= 100:
		return Thousands(int64(f + 0.5))
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 1 || f <= 0:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.*f", 2-int(math.Floor(math.Log10(f))), f)
}

// Times writes a ratio.
func Times(f float64) string {
	if f >= 10 {
		return fmt.Sprintf("%.0f x", f)
	}
	return fmt.Sprintf("%.2f x", f)
}

// Count writes a count that need not be exact: with three digits and k, M, G or T where it is large.
func Count(v float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= u.of {
			return digits(v/u.of, 3) + u.name
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Seconds writes a time with two digits in the unit that suits.
func Seconds(v float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1, "s"}, {1e-3, "ms"}} {
		if v >= u.of {
			return digits(v/u.of, 2) + " " + u.name
		}
	}
	return digits(v*1e6, 2) + " µs"
}

// digits writes v with so many that count, and zeros behind them where it is larger.
func digits(v float64, n int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
