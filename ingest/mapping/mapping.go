// Package mapping says how the posts of a source are read: the settings that all sources share.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package mapping

import (
	"fmt"
	"net/url"

	"refrain/feed"
)

// Config is what the configuration says of the posts of a source.
type Config struct {
	Map  string   `yaml:"map"`  // other field names, as feed.ParseFields reads them
	Keep []string `yaml:"keep"` // fields of the posts that go to later.meta of their events
	Link string   `yaml:"link"` // template of the posts' addresses, later.link; "": none
}

// Fields are the fields of posts as c has them. An error begins with the name of the setting.
func (c *Config) Fields() (*feed.Fields, error) {
	fields, err := feed.ParseFields(c.Map)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	if fields, err = fields.WithMeta(c.Keep); err != nil {
		return nil, fmt.Errorf("keep: %w", err)
	}
	if fields, err = fields.WithLink(c.Link); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	return fields, nil
}

// With are the fields as c has them, but for what the query of a request says.
func (c *Config) With(query url.Values) (*feed.Fields, error) {
	overruled := *c
	if query.Has("map") {
		overruled.Map = query.Get("map")
	}
	return overruled.Fields()
}
