// Package mapping says how the posts of a source are read: the settings that all sources share.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package mapping

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"time"
	_ "time/tzdata" // the image has no zones of its own

	"refrain/feed"
	"refrain/ingest/file"
)

// Config is what the configuration says of the posts of a source.
type Config struct {
	Preset     string   `yaml:"preset"`      // the export of a platform, one of Presets; "": none
	Map        string   `yaml:"map"`         // other field names, as feed.ParseFields reads them; over those of the preset
	HTML       bool     `yaml:"html"`        // texts are HTML, and read as a reader sees them
	Timezone   string   `yaml:"timezone"`    // of times without an offset, as Europe/Berlin; "": they are refused
	TimeFormat string   `yaml:"time_format"` // of strftime, as %d.%m.%Y %H:%M; "": the forms of feed.ParseTime
	Keep       []string `yaml:"keep"`        // fields of the posts that go to later.meta of their events
	Link       string   `yaml:"link"`        // template of the posts' addresses, later.link; "": none
}

// Error says which setting is wrong.
type Error struct {
	Key string // of the configuration, as time_format
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Key, e.Err) }

// Unwrap is what is wrong with it.
func (e *Error) Unwrap() error { return e.Err }

// Fields are the fields of posts as c has them. What is wrong is an *Error.
func (c *Config) Fields() (*feed.Fields, error) {
	preset, err := c.preset()
	if err != nil {
		return nil, &Error{"preset", err}
	}
	fields, err := preset.fields()
	if err == nil {
		fields, err = fields.WithOnly(preset.Only)
	}
	if err == nil {
		fields, err = fields.WithMap(c.Map)
	}
	if err != nil {
		return nil, &Error{"map", err}
	}
	if c.HTML || preset.HTML {
		fields = fields.WithHTML()
	}
	zone, err := c.zone()
	if err != nil {
		return nil, &Error{"timezone", err}
	}
	if fields, err = fields.WithTimes(c.TimeFormat, zone); err != nil {
		return nil, &Error{"time_format", err}
	}
	if fields, err = fields.WithMeta(c.Keep); err != nil {
		return nil, &Error{"keep", err}
	}
	if fields, err = fields.WithLink(c.Link); err != nil {
		return nil, &Error{"link", err}
	}
	return fields, nil
}

// preset is an empty one where none is named.
func (c *Config) preset() (*Preset, error) {
	if c.Preset == "" {
		return &Preset{}, nil
	}
	return FindPreset(c.Preset)
}

// File sets what c says of a file, for which its preset may know where the posts are.
func (c *Config) File(cfg *file.Config) error {
	preset, err := c.preset()
	if err != nil {
		return &Error{"preset", err}
	}
	cfg.RecordsAt, cfg.Include = cmp.Or(cfg.RecordsAt, preset.Records), preset.Include
	cfg.Fields, err = c.Fields()
	return err
}

// zone is nil where none is given.
func (c *Config) zone() (*time.Location, error) {
	if c.Timezone == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil || zone == time.Local { // "Local" would be another zone on another machine
		return nil, fmt.Errorf("%q: want a name of the IANA database, as Europe/Berlin, or UTC", c.Timezone)
	}
	return zone, nil
}

// With are the fields as c has them, but for what the query of a request says.
func (c *Config) With(query url.Values) (*feed.Fields, error) {
	overruled := *c
	for key, value := range map[string]*string{
		"preset": &overruled.Preset, "map": &overruled.Map, "timezone": &overruled.Timezone, "time_format": &overruled.TimeFormat,
	} {
		if query.Has(key) {
			*value = query.Get(key)
		}
	}
	if query.Has("html") {
		var err error
		if overruled.HTML, err = strconv.ParseBool(query.Get("html")); err != nil {
			return nil, &Error{"html", fmt.Errorf("%q: want true or false", query.Get("html"))}
		}
	}
	return overruled.Fields()
}
