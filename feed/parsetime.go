package feed

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"
)

// Event times lie in the years 1970 to 2100, UTC: what is outside is a broken clock or a broken field.
const (
	firstYear = 1970
	lastYear  = 2100
)

// endOfTime is the first millisecond after lastYear.
const endOfTime = 4133980800_000

var (
	errTimeForm = errors.New("a time in no known form, as 2018-10-10T20:19:24Z: others are described by --time-format " +
		"(time_format), as '%d.%m.%Y %H:%M'")
	errNoZone  = errors.New("no offset from UTC: say of all with --tz (timezone), as Europe/Berlin, or UTC")
	errNoClock = errors.New("a date without the time of day: if midnight will do, --time-format (time_format) '%Y-%m-%d'")
)

// ParseTime reads an event time in one of these forms:
//
//	2018-10-10T20:19:24Z              RFC 3339 with any offset and fraction; a space or t for the T, z or UTC for the
//	                                  Z, a space before the offset and one without its colon are understood too
//	1539202764, 1539202764.25         Unix seconds
//	1539202764250                     Unix milliseconds: any number too large to be seconds before 2101
//	1539202764250000                  Unix microseconds: any number too large to be milliseconds before 2101
//	Wed Oct 10 20:19:24 +0000 2018    Twitter's
//	Wed, 10 Oct 2018 20:19:24 +0000   RFC 1123 and 822, as of mails and RSS; the day of the week and the seconds may be missing
//
// What is finer than a millisecond is dropped. A time outside the years 1970 to 2100 (UTC) is an error, which
// names the value.
func ParseTime(s string) (Time, error) { return times{}.parse(s) }

// times says how a feed writes its times, where that cannot be known.
type times struct {
	zone   *time.Location // of times without an offset; nil: they are refused
	layout string         // of strftime; "": one of the forms of ParseTime
}

// WithTimes is f with what is known of its times: the zone of those that have no offset from UTC, nil where they are to
// be refused, and a layout of strftime, as "%d.%m.%Y %H:%M", if they are in none of the forms of ParseTime. Then they are
// read by the layout alone.
func (f *Fields) WithTimes(layout string, zone *time.Location) (*Fields, error) {
	if layout != "" && zone == nil && !strings.Contains(layout, "%z") && !strings.Contains(layout, "%s") &&
		!strings.Contains(layout, "%:z") {
		return nil, fmt.Errorf("%q has no offset from UTC (%%z): say the timezone too, as Europe/Berlin, or UTC", layout)
	}
	timed := f.copy()
	timed.times = times{zone: zone, layout: layout}
	return timed, nil
}

func (f times) parse(s string) (Time, error) {
	t, err := f.read(s)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", quoteShort(s), err)
	}
	return t, nil
}

func (f times) read(s string) (Time, error) {
	if f.layout != "" {
		return f.byLayout(s)
	}
	if t, ok := parseUTC(s); ok {
		return t, nil
	}
	switch {
	case s == "":
		return 0, errTimeForm
	case strings.IndexByte(s, ':') < 0:
		return parseUnixOrDate(s)
	case strings.IndexByte(s, '-') >= 4 && s[0] >= '0' && s[0] <= '9' && allDigits(s[:strings.IndexByte(s, '-')]):
		return f.parseRFC3339(s)
	}
	return f.parseNamed(s)
}

// byLayout reads a time as the feed's layout has it.
func (f times) byLayout(s string) (Time, error) {
	zone := f.zone
	if zone == nil {
		zone = time.UTC // the layout has an offset
	}
	t, err := timefmt.ParseInLocation(strings.TrimSpace(s), f.layout, zone)
	if err != nil {
		return 0, fmt.Errorf("not as --time-format (time_format) has it: %s", f.layout)
	}
	return inRange(t.UnixMilli())
}

// namedLayouts are those of times whose months have names, with an offset: Twitter's, and what mails and RSS have.
var namedLayouts = []string{
	time.RubyDate,
	"2 Jan 2006 15:04:05 -0700", "2 Jan 06 15:04:05 -0700", "2 Jan 2006 15:04 -0700", "2 Jan 06 15:04 -0700",
	"2 January 2006 15:04:05 -0700", "2 January 2006 15:04 -0700",
}

// zoneNames are those of RFC 822 that mean one offset everywhere.
var zoneNames = map[string]string{
	"UT": "+0000", "UTC": "+0000", "GMT": "+0000", "Z": "+0000", "EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500",
	"MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}

// withoutWeekday is a time without the name of its day, which may be written Thu, Thur or Thursday.
func withoutWeekday(s string) string {
	day, rest, ok := strings.Cut(s, ", ")
	if _, err := time.Parse("Mon", day[:min(len(day), 3)]); !ok || err != nil || len(day) > len("Wednesday") {
		return s
	}
	return rest
}

// parseNamed reads a time whose month has a name.
func (f times) parseNamed(s string) (Time, error) {
	if t, err := time.ParseInLocation(time.ANSIC, s, time.UTC); err == nil {
		return f.zoned(t)
	}
	if i := strings.LastIndexByte(s, ' '); zoneNames[s[i+1:]] != "" {
		s = s[:i+1] + zoneNames[s[i+1:]]
	}
	s = withoutWeekday(s)
	for _, layout := range namedLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return inRange(t.UnixMilli())
		}
	}
	return 0, errTimeForm
}

// zoned is a time that was read without an offset, in the feed's zone.
func (f times) zoned(t time.Time) (Time, error) {
	if f.zone == nil {
		return 0, errNoZone
	}
	t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), f.zone)
	return inRange(t.UnixMilli())
}

// parseUTC is the short way for the one form that nearly every feed uses: 2006-01-02T15:04:05Z. It leaves
// everything unusual to parseRFC3339.
func parseUTC(s string) (Time, bool) {
	if len(s) != len("2006-01-02T15:04:05Z") || s[19] != 'Z' || s[10] != 'T' || !separated(s) {
		return 0, false
	}
	c, ok := parseClock(s)
	if !ok || c.second == 60 || c.year < firstYear || c.year > lastYear {
		return 0, false
	}
	return Time(c.unix() * 1000), true
}

// separated reports whether the four separators inside the date and inside the time of day are there.
func separated(s string) bool {
	return s[4] == '-' && s[7] == '-' && s[13] == ':' && s[16] == ':'
}

// clock is the part of a time that all forms of RFC 3339 share.
type clock struct{ year, month, day, hour, minute, second int }

// unix is c in Unix seconds, were its offset zero. A second of 60 becomes the first of the next minute.
func (c clock) unix() int64 {
	return time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, 0, time.UTC).Unix()
}

// parseClock reads the 19 bytes of "2006-01-02T15:04:05", the separators already checked.
func parseClock(s string) (clock, bool) {
	century, ok0 := twoDigits(s[0:])
	year, ok1 := twoDigits(s[2:])
	month, ok2 := twoDigits(s[5:])
	day, ok3 := twoDigits(s[8:])
	hour, ok4 := twoDigits(s[11:])
	minute, ok5 := twoDigits(s[14:])
	second, ok6 := twoDigits(s[17:])
	c := clock{100*century + year, month, day, hour, minute, second}
	digits := ok0 && ok1 && ok2 && ok3 && ok4 && ok5 && ok6
	return c, digits && month-1 < 12 && month > 0 && day > 0 && day <= daysIn(c.year, month) &&
		hour < 24 && minute < 60 && second <= 60
}

func twoDigits(s string) (int, bool) {
	a, b := s[0]-'0', s[1]-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
}

func daysIn(year, month int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return int("\x1f\x1c\x1f\x1e\x1f\x1e\x1f\x1f\x1e\x1f\x1e\x1f"[month-1])
}

// parseRFC3339 reads what begins with the digits of a year and holds a colon.
func (f times) parseRFC3339(s string) (Time, error) {
	if dash := strings.IndexByte(s, '-'); dash > 4 && allDigits(s[:dash]) {
		return 0, yearError(s[:dash])
	}
	if t, err := time.ParseInLocation("2006-01-02 15:04", s, time.UTC); err == nil {
		return f.zoned(t)
	}
	if len(s) < 19 || !separated(s) || strings.IndexByte("Tt ", s[10]) < 0 {
		return 0, errTimeForm
	}
	c, ok := parseClock(s)
	if !ok {
		return 0, errors.New("no such date or time of day")
	}
	fraction, rest, ok := cutFraction(s[19:])
	if !ok {
		return 0, errTimeForm
	}
	if rest == "" {
		return f.zoned(time.UnixMilli(c.unix()*1000 + int64(fraction)).UTC())
	}
	offset, err := parseOffset(strings.TrimPrefix(rest, " "))
	if err != nil {
		return 0, err
	}
	seconds := c.unix() - int64(offset)
	if c.second == 60 && seconds%86400 != 0 {
		return 0, errors.New("a leap second inside a day")
	}
	return inRange(seconds*1000 + int64(fraction))
}

// cutFraction reads ".25" as 250 milliseconds and returns what follows.
func cutFraction(s string) (milliseconds int, rest string, ok bool) {
	if s == "" || s[0] != '.' {
		return 0, s, true
	}
	n := 1
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return thousandths(s[1:n]), s[n:], n > 1
}

// thousandths reads the first three of the digits after a decimal point.
func thousandths(digits string) int {
	v := 0
	for i := range 3 {
		v *= 10
		if i < len(digits) {
			v += int(digits[i] - '0')
		}
	}
	return v
}

// parseOffset returns seconds east of UTC.
func parseOffset(s string) (int, error) {
	switch {
	case s == "Z" || s == "z" || s == "UTC":
		return 0, nil
	case s == "" || s[0] != '+' && s[0] != '-':
		return 0, errTimeForm
	}
	digits := s[1:]
	if len(digits) == 5 && digits[2] == ':' {
		digits = digits[:2] + digits[3:]
	}
	if len(digits) != 4 || !allDigits(digits) {
		return 0, errTimeForm
	}
	hours, _ := twoDigits(digits)
	minutes, _ := twoDigits(digits[2:])
	if hours > 23 || minutes > 59 {
		return 0, errors.New("no such offset from UTC")
	}
	offset := hours*3600 + minutes*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, nil
}

// parseUnixOrDate reads what holds no colon: a number, or a date that lacks its time of day.
func parseUnixOrDate(s string) (Time, error) {
	if len(s) == 10 && s[4] == '-' && s[7] == '-' {
		return 0, errNoClock
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if allDigits(whole) && len(whole) <= 16 && (fraction == "" && len(whole) == len(s) || allDigits(fraction)) {
		n, _ := strconv.ParseInt(whole, 10, 64) // 16 digits always fit
		return fromUnix(n, thousandths(fraction))
	}
	return parseUnusual(s)
}

// fromUnix tells seconds, milliseconds and microseconds from each other: a number is seconds as long as they lie before
// the year 2101, else milliseconds, else microseconds.
func fromUnix(n int64, fraction int) (Time, error) {
	switch {
	case n < endOfTime/1000:
		return Time(n*1000 + int64(fraction)), nil
	case n < endOfTime:
		return Time(n), nil
	case n < endOfTime*1000:
		return Time(n / 1000), nil
	}
	return 0, errTooLarge
}

var errTooLarge = fmt.Errorf("%w (too large for microseconds)", yearError("after 2100"))

// parseUnusual reads numbers with a sign, an exponent or too many digits, exactly.
func parseUnusual(s string) (Time, error) {
	if len(s) > 40 || !jsonNumber(s) || exponent(s) > 20 {
		return 0, errTimeForm
	}
	r, ok := new(big.Rat).SetString(s)
	switch {
	case !ok:
		return 0, errTimeForm
	case r.Sign() < 0:
		return 0, yearError("before 1970")
	case r.Cmp(new(big.Rat).SetInt64(endOfTime*1000)) >= 0:
		return 0, errTooLarge
	}
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	fraction := new(big.Rat).Sub(r, new(big.Rat).SetInt(whole))
	thousandths := new(big.Rat).Mul(fraction, new(big.Rat).SetInt64(1000))
	return fromUnix(whole.Int64(), int(new(big.Int).Quo(thousandths.Num(), thousandths.Denom()).Int64()))
}

// exponent is the size of the decimal exponent of s; 0 without one, a large number where it is too long to matter.
func exponent(s string) int {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return 0
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return 1 << 20
	}
	return max(n, -n)
}

// jsonNumber reports whether s has only what a decimal number may hold, with digits at both ends: big.Rat also
// reads fractions, hex and more.
func jsonNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789+-.eE") == "" && s[0] != '.' && allDigits(s[len(s)-1:])
}

func inRange(milliseconds int64) (Time, error) {
	if milliseconds < 0 || milliseconds >= endOfTime {
		return 0, yearError(strconv.Itoa(time.UnixMilli(milliseconds).UTC().Year()))
	}
	return Time(milliseconds), nil
}

// yearError says that a year, given as words or digits, is not one of 1970 to 2100.
func yearError(year string) error {
	return fmt.Errorf("year %s: outside %d to %d", year, firstYear, lastYear)
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// quoteShort quotes s for an error message, cut to 60 bytes.
func quoteShort(s string) string {
	const limit = 60
	if len(s) <= limit {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:limit]) + "..."
}
