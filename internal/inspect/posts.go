package inspect

import (
	"errors"
	"regexp"
	"strings"

	"refrain/feed"
	"refrain/ingest/mapping"
)

// each hands in the posts that the records are as cfg has them; refused counts the others, but those that a preset leaves out.
func each(records [][]byte, cfg mapping.Config, see func(*feed.Post)) (refused int) {
	fields, err := cfg.Fields()
	if err != nil {
		return len(records)
	}
	d := feed.NewPostDecoder(fields)
	for _, record := range records {
		var p feed.Post
		_, err := d.Decode(&p, record)
		switch {
		case err == nil:
			see(&p)
		case !errors.Is(err, feed.ErrNotPost):
			refused++
		}
	}
	return refused
}

// layouts are those of times that are none of feed.ParseTime's, by what they have in common; those of a line cannot be
// told apart where no day is greater than twelve.
var layouts = [][]string{
	{"%Y-%m-%d"}, {"%Y/%m/%d"}, {"%Y.%m.%d"}, {"%Y%m%d"}, {"%d.%m.%Y"}, {"%d.%m.%y"}, {"%d %B %Y"}, {"%d %b %Y"}, {"%B %d, %Y"},
	{"%b %d, %Y"}, {"%m/%d/%Y", "%d/%m/%Y"}, {"%m/%d/%y", "%d/%m/%y"}, {"%d-%m-%Y", "%m-%d-%Y"},
}

// clockLayouts follow the day.
var clockLayouts = []string{
	" %H:%M", " %H:%M:%S", ", %H:%M", ", %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %I:%M %p", ", %I:%M:%S %p", " %H:%M:%S %Z",
	" %H:%M %Z", "T%H:%M", "",
}

// times finds the flags with which times are read, and says what cannot be known of them.
func (r *Report) times() {
	least := r.refused(r.Posts)
	if least == 0 || r.Posts.TimeFormat != "" || r.Format == "text" {
		return
	}
	best, others := r.Posts, []string(nil)
	for _, alike := range append([][]string{{""}}, withClocks()...) {
		var right []mapping.Config
		for _, layout := range alike {
			cfg := r.with(layout)
			switch n := r.refused(cfg); {
			case n < least:
				least, right = n, []mapping.Config{cfg}
			case n == least && right != nil:
				right = append(right, cfg)
			}
		}
		if right != nil {
			best, others = right[0], layoutsOf(right[1:])
		}
		if least == 0 {
			break
		}
	}
	r.sayTimes(best, others)
	r.Posts = best
}

// timed is how many records are looked at for their times: each is read by some two hundred layouts.
const timed = 100

func (r *Report) refused(cfg mapping.Config) int {
	return each(r.Records[:min(timed, len(r.Records))], cfg, func(*feed.Post) {})
}

// withClocks are the layouts of days with each of those of the time of day.
func withClocks() (all [][]string) {
	for _, alike := range layouts {
		for _, clock := range clockLayouts {
			var whole []string
			for _, day := range alike {
				whole = append(whole, day+clock)
			}
			all = append(all, whole)
		}
	}
	return all
}

func layoutsOf(all []mapping.Config) (layouts []string) {
	for _, cfg := range all {
		layouts = append(layouts, cfg.TimeFormat)
	}
	return layouts
}

// with is the mapping with a layout, and the zone of times without an offset.
func (r *Report) with(layout string) mapping.Config {
	cfg := r.Posts
	cfg.TimeFormat = layout
	if cfg.Timezone == "" {
		cfg.Timezone = r.zone()
	}
	return cfg
}

// zones are where clocks show an abbreviation.
var zones = map[string]string{
	"EST": "America/New_York", "EDT": "America/New_York", "CST": "America/Chicago", "CDT": "America/Chicago",
	"MST": "America/Denver", "MDT": "America/Denver", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
	"CET": "Europe/Berlin", "CEST": "Europe/Berlin", "MEZ": "Europe/Berlin", "MESZ": "Europe/Berlin", "BST": "Europe/London",
}

// zone is the one that the times name, and UTC where they name none.
func (r *Report) zone() string {
	example := strings.Trim(r.example(r.createdAt()), `"`)
	if zone := zones[example[strings.LastIndexByte(example, ' ')+1:]]; zone != "" {
		return zone
	}
	return "UTC"
}

func (r *Report) createdAt() string {
	fields, err := r.Posts.Fields()
	if err != nil {
		return ""
	}
	return fields.Path(feed.FieldCreatedAt)
}

func (r *Report) sayTimes(found mapping.Config, others []string) {
	if len(others) > 0 {
		r.note("Nothing tells days from months: if it is not %s, it is --time-format '%s'.", found.TimeFormat, others[0])
	}
	if r.Posts.Timezone != found.Timezone && found.Timezone == "UTC" && !strings.HasSuffix(found.TimeFormat, "%Z") {
		r.note("The times have no offset from UTC: put --tz ZONE for --tz UTC, as Europe/Berlin, if they are in another zone.")
	}
}

var (
	// markup is a tag or an entity as texts of the web have them.
	markup = regexp.MustCompile(`(?i)</?(p|br|a|b|i|em|strong|div|span|ul|ol|li|blockquote|h[1-6])(\s[^<>]*)?/?>|` +
		`&(amp|lt|gt|quot|apos|nbsp|#\d+|#x[0-9a-f]+);`)
	exponent = regexp.MustCompile(`^\d[.,]?\d*[eE]\+?\d+$`)
)

// look says what the posts themselves show: texts that are HTML, and ids that a spreadsheet has rounded.
func (r *Report) look() {
	if r.Format == "text" {
		return
	}
	posts, marked, rounded := 0, 0, ""
	each(r.Records, r.Posts, func(p *feed.Post) {
		posts++
		if markup.MatchString(p.Text) {
			marked++
		}
		if exponent.MatchString(p.ID) {
			rounded = p.ID
		}
	})
	if preset, err := mapping.FindPreset(r.Posts.Preset); err != nil || !preset.HTML {
		r.Posts.HTML = r.Posts.HTML || marked > posts/100
	}
	if rounded != "" {
		r.note("Ids as %s are what a spreadsheet leaves of long ones: several posts have the same one, and count as one post that was "+
			"changed. Export them again, with the column as text.", rounded)
	}
}
