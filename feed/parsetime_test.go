package feed

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	tests := []struct{ in, want string }{
		{"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"2100-12-31T23:59:59Z", "2100-12-31T23:59:59Z"},
		{"2018-10-10T20:19:24Z", "2018-10-10T20:19:24Z"},
		{"2018-10-10t20:19:24z", "2018-10-10T20:19:24Z"},
		{"2018-10-10 20:19:24Z", "2018-10-10T20:19:24Z"},
		{"2018-10-10T20:19:24+00:00", "2018-10-10T20:19:24Z"},
		{"2018-10-10T20:19:24-00:00", "2018-10-10T20:19:24Z"},
		{"2018-10-10T22:19:24+02:00", "2018-10-10T20:19:24Z"},
		{"2018-10-11T01:49:24+0530", "2018-10-10T20:19:24Z"},
		{"2018-10-10 10:19:24.5-10:00", "2018-10-10T20:19:24.5Z"},
		{"2018-10-10T20:19:24.123999999Z", "2018-10-10T20:19:24.123Z"},
		{"2018-10-10T20:19:24.0Z", "2018-10-10T20:19:24Z"},
		{"2016-02-29T00:00:00Z", "2016-02-29T00:00:00Z"},
		{"2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"},
		{"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
		{"2017-01-01T01:59:60+02:00", "2017-01-01T00:00:00Z"},
		{"1969-12-31T23:00:00-01:00", "1970-01-01T00:00:00Z"},
		{"Wed Oct 10 20:19:24 +0000 2018", "2018-10-10T20:19:24Z"},
		{"Wed Oct 10 20:19:24 -0700 2018", "2018-10-11T03:19:24Z"},
		{"0", "1970-01-01T00:00:00Z"},
		{"1539202764", "2018-10-10T20:19:24Z"},
		{"1539202764.5", "2018-10-10T20:19:24.5Z"},
		{"1539202764.1239", "2018-10-10T20:19:24.123Z"},
		{"1539202764123", "2018-10-10T20:19:24.123Z"},
		{"1539202764123.9", "2018-10-10T20:19:24.123Z"},
		{"1.539202764e9", "2018-10-10T20:19:24Z"},
		{"1.539202764123E12", "2018-10-10T20:19:24.123Z"},
		{"4133980799", "2100-12-31T23:59:59Z"},
		{"4133980800000", "1970-02-17T20:19:40.8Z"}, // too large for milliseconds, so microseconds
		{"1539202764123456", "2018-10-10T20:19:24.123Z"},
		{"1539202764123456.7", "2018-10-10T20:19:24.123Z"},
		{"1.539202764123456e+15", "2018-10-10T20:19:24.123Z"},
		{"4133980799999999", "2100-12-31T23:59:59.999Z"},
		{"2018-10-10 20:19:24 UTC", "2018-10-10T20:19:24Z"},
		{"2018-10-10 20:19:24.5 +0000", "2018-10-10T20:19:24.5Z"},
		{"Wed, 10 Oct 2018 20:19:24 GMT", "2018-10-10T20:19:24Z"},
		{"Wed, 10 Oct 2018 22:19:24 +0200", "2018-10-10T20:19:24Z"},
		{"Wed, 3 Oct 2018 20:19:24 +0000", "2018-10-03T20:19:24Z"},
		{"03 Oct 18 20:19 UT", "2018-10-03T20:19:00Z"},
		{"3 Oct 2018 15:19:24 EST", "2018-10-03T20:19:24Z"},
		{"4133980800", "1970-02-17T20:19:40.8Z"}, // too large for seconds, so milliseconds
		{"4133980799999", "2100-12-31T23:59:59.999Z"},
		{"0.0005e3", "1970-01-01T00:00:00.5Z"},
	}
	for _, test := range tests {
		got, err := ParseTime(test.in)
		if err != nil {
			t.Errorf("%s: %v", test.in, err)
		} else if got.String() != test.want {
			t.Errorf("%s is %s, want %s", test.in, got, test.want)
		}
	}
}

func TestParseTimeRejects(t *testing.T) {
	const outside = ": outside 1970 to 2100"
	form := errTimeForm.Error()
	tooLarge := "year after 2100" + outside + " (too large for microseconds)"
	tests := []struct{ in, want string }{
		{"", form},
		{"yesterday", form},
		{"10/10/2018 20:19", form},
		{"1969-12-31T23:59:59Z", "year 1969" + outside},
		{"1970-01-01T00:00:00+01:00", "year 1969" + outside},
		{"2101-01-01T00:00:00Z", "year 2101" + outside},
		{"2100-12-31T23:30:00-01:00", "year 2101" + outside},
		{"30000-01-01T00:00:00Z", "year 30000" + outside},
		{"0000-01-01T00:00:00Z", "year 0" + outside},
		{"Wed Oct 10 20:19:24 +0000 1918", "year 1918" + outside},
		{"Wed Oct 32 20:19:24 +0000 2018", form},
		{"-1", "year before 1970" + outside},
		{"4133980800000000", tooLarge},
		{"4133980800000000000", tooLarge},
		{"4.1339808e15", tooLarge},
		{"Wed, 10 Oct 2018 20:19:24 CET", form}, // of which there are several
		{"Wed Oct 10 20:19:24 2018", errNoZone.Error()},
		{"2018-10-10 20:19", errNoZone.Error()},
		{"01.11.2015 00:00", form},
		{"1e300", form},
		{"1e999999999999", form},
		{"0x10", form},
		{"1/3", form},
		{"NaN", form},
		{".5", form},
		{"5.", form},
		{"1539202764 ", form},
		{"2018-10-10", errNoClock.Error()},
		{"2018-10-10T20:19:24", errNoZone.Error()},
		{"2018-10-10 20:19:24.5", errNoZone.Error()},
		{"2018-10-10T20:19:24.Z", form},
		{"2018-10-10T20:19:24+2", form},
		{"2018-10-10T20:19:24+25:00", "no such offset from UTC"},
		{"2018-10-10T20:19Z", form},
		{"2018-13-10T20:19:24Z", "no such date or time of day"},
		{"2018-00-10T20:19:24Z", "no such date or time of day"},
		{"2018-02-29T20:19:24Z", "no such date or time of day"},
		{"2100-02-29T20:19:24Z", "no such date or time of day"},
		{"2018-04-31T20:19:24Z", "no such date or time of day"},
		{"2018-10-10T24:00:00Z", "no such date or time of day"},
		{"2018-10-10T20:60:24Z", "no such date or time of day"},
		{"2018-10-10T20:19:61Z", "no such date or time of day"},
		{"2018-10-10T20:19:60Z", "a leap second inside a day"},
		{"2018-1O-10T20:19:24Z", "no such date or time of day"},
	}
	for _, test := range tests {
		got, err := ParseTime(test.in)
		if err == nil {
			t.Errorf("%q is %s, want an error", test.in, got)
			continue
		}
		want := quoteShort(test.in) + ": " + test.want
		if err.Error() != want {
			t.Errorf("reason\n%s\nwant\n%s", err, want)
		}
	}
}

// TestTimesOfAFeed: times without an offset are those of a zone, and a layout says what they look like.
func TestTimesOfAFeed(t *testing.T) {
	for _, c := range []struct{ zone, layout, in, want string }{
		{"Europe/Berlin", "", "2018-10-10 22:19:24", "2018-10-10T20:19:24Z"},
		{"Europe/Berlin", "", "2018-12-10T22:19", "a time in no known form"},
		{"Europe/Berlin", "", "2018-12-10 22:19", "2018-12-10T21:19:00Z"},
		{"Europe/Berlin", "", "2018-10-10T22:19:24.5", "2018-10-10T20:19:24.5Z"},
		{"Europe/Berlin", "", "2018-10-10T20:19:24Z", "2018-10-10T20:19:24Z"},
		{"UTC", "", "Wed Oct 10 20:19:24 2018", "2018-10-10T20:19:24Z"},
		{"UTC", "", "2018-10-10", errNoClock.Error()},
		{"UTC", "", "1970-01-01 00:00:00", "1970-01-01T00:00:00Z"},
		{"Asia/Tokyo", "", "1970-01-01 00:00:00", "year 1969: outside 1970 to 2100"},
		{"Europe/Berlin", "%d.%m.%Y %H:%M", "01.11.2015 00:00", "2015-10-31T23:00:00Z"},
		{"UTC", "%d.%m.%Y %H:%M", "1.11.2015 0:00", "2015-11-01T00:00:00Z"},
		{"UTC", "%d.%m.%Y", " 01.11.2015", "2015-11-01T00:00:00Z"},
		{"UTC", "%m/%d/%y %I:%M %p", "11/01/15 01:30 PM", "2015-11-01T13:30:00Z"},
		{"", "%d/%b/%Y:%H:%M:%S %z", "01/Nov/2015:01:00:00 +0100", "2015-11-01T00:00:00Z"},
		{"UTC", "%d.%m.%Y", "01.13.2015", "not as --time-format (time_format) has it: %d.%m.%Y"},
		{"UTC", "%d.%m.%Y", "2015-11-01T00:00:00Z", "not as --time-format (time_format) has it: %d.%m.%Y"},
	} {
		var zone *time.Location
		var err error
		if c.zone != "" {
			zone, err = time.LoadLocation(c.zone)
		}
		if err != nil {
			t.Fatal(err)
		}
		fields, err := (*Fields)(nil).WithTimes(c.layout, zone)
		if err != nil {
			t.Fatal(err)
		}
		var p Post
		_, err = fields.Set(&p, FieldCreatedAt, c.in)
		if got := p.Time.String(); got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s in %s by %q is %s, %v; want %s", c.in, c.zone, c.layout, got, err, c.want)
		}
	}
	if _, err := (*Fields)(nil).WithTimes("%d.%m.%Y", nil); err == nil {
		t.Error("a layout without an offset, and no zone: no error")
	}
}

// TestParseTimeAgreesWithTime compares with the standard library on what both understand.
func TestParseTimeAgreesWithTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60, 23*60).Draw(t, "zone"))
		moment := time.UnixMilli(rapid.Int64Range(0, endOfTime-1).Draw(t, "ms")).In(zone)
		layout := rapid.SampledFrom([]string{time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05.000Z07:00"}).Draw(t, "layout")
		s := moment.Format(layout)
		want, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseTime(s)
		if err != nil || got != FromTime(want) {
			t.Fatalf("%s is %s (%v), want %s", s, got, err, FromTime(want))
		}
	})
}

// FuzzParseTime: no answer outside the years, what is written can be read again, and where the standard library
// reads an RFC 3339 time, so do we.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"", "2018-10-10T20:19:24Z", "2018-10-10 20:19:24.5-10:00", "1539202764.25", "1e9", "-1e-9",
		"Wed Oct 10 20:19:24 +0000 2018", "30000-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "2018-10-10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseTime(s)
		std, stdErr := time.Parse(time.RFC3339, s)
		comparable := stdErr == nil && strings.IndexByte(s, ',') < 0 && std.UnixMilli() >= 0 && std.UnixMilli() < endOfTime
		if comparable && (err != nil || got != FromTime(std)) {
			t.Fatalf("%q is %s (%v), and the standard library says %s", s, got, err, std)
		}
		if err != nil {
			return
		}
		if got < 0 || got >= endOfTime {
			t.Fatalf("%q is %d", s, got)
		}
		again, err := ParseTime(got.String())
		if err != nil || again != got {
			t.Fatalf("%q is %s, which reads as %s (%v)", s, got, again, err)
		}
	})
}

func BenchmarkParseTime(b *testing.B) {
	for _, s := range []string{"2018-10-10T20:19:24Z", "2018-10-10T20:19:24.123+02:00", "1539202764",
		"Wed Oct 10 20:19:24 +0000 2018"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := ParseTime(s)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
