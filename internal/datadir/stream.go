package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"refrain/feed"
	"refrain/publish"
	"refrain/shard"
	"refrain/topic"
	"refrain/topic/jetstream"
	"refrain/topic/jetstream/blocks"
)

// kinds are the streams of the service, and how their messages are read.
var kinds = map[string]func(blocks.Record) error{
	"sentences": sentences,
	"events":    events,
	"control":   control,
	"KV_state":  state,
}

// stream checks the files of one stream, and what its messages hold.
func (c *checker) stream(name string) error {
	read := kinds[name]
	keys := map[string]bool{}
	s, err := blocks.Scan(c.Dir, name, func(file string, r blocks.Record) error {
		if r.Message {
			keys[string(r.Subject)] = true
		}
		if r.Message && read != nil {
			if err := read(r); err != nil {
				c.found(file, r.Offset, "message %d: %v", r.Seq, err)
			}
		}
		return c.progress(int64(r.Size), name)
	})
	var other *blocks.LayoutError
	if errors.As(err, &other) {
		c.found(other.Path, -1, "not checked: %s", other.Reason)
		c.endPart("%s", name)
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range s.Damage {
		c.found(d.File, d.Offset, "%s", d.Reason)
	}
	c.missing(s, int64(len(keys)))
	c.endPart("%s, %d messages", name, s.Messages)
	return nil
}

// missing tells of messages that are not there. In a key-value bucket each value replaces the one before.
func (c *checker) missing(s *blocks.Stream, keys int64) {
	folder := filepath.Join(blocks.Dir(c.Dir), s.Name, "msgs")
	if !strings.HasPrefix(s.Name, "KV_") {
		for _, g := range s.Missing {
			c.found(folder, -1, "messages %d to %d are missing", g.First, g.Last)
		}
		return
	}
	if s.Indexed.Last > s.Last {
		c.found(folder, -1, "messages %d to %d are missing", s.Last+1, s.Indexed.Last)
	}
	if s.Clean && keys != s.Indexed.Messages {
		c.found(folder, -1, "%d keys are there, of %d", keys, s.Indexed.Messages)
	}
}

func sentences(r blocks.Record) error {
	return each(r, "record", func(data []byte) error { _, err := topic.DecodeBatch(data); return err })
}

func control(r blocks.Record) error {
	return each(r, "record", func(data []byte) error { _, err := topic.DecodeTombstones(data); return err })
}

func events(r blocks.Record) error { return each(r, "event", event) }

// each reads the records of a message.
func each(r blocks.Record, noun string, read func(data []byte) error) error {
	records, err := jetstream.Unpack(r.Header, r.Data)
	if err != nil {
		return err
	}
	for i, data := range records {
		if err := read(data); err != nil {
			return fmt.Errorf("%s %d of %d: %w", noun, i+1, len(records), err)
		}
	}
	return nil
}

// event reads a match, or an event of another type.
func event(data []byte) error {
	_, why := feed.DecodeEvent(data)
	if why == nil {
		return nil
	}
	var other struct{ Type string }
	if err := json.Unmarshal(data, &other); err != nil || other.Type == "" || other.Type == feed.ReuseType {
		return why
	}
	return nil
}

// state reads a position: of a partition, a sink or a webhook. Others are any text.
func state(r blocks.Record) error {
	kind, _, _ := strings.Cut(strings.TrimPrefix(string(r.Subject), "$KV.state."), "/")
	switch kind {
	case "shard":
		_, err := shard.DecodeState(r.Data)
		return err
	case "publish":
		return publish.CheckCursor(r.Data)
	case "webhook":
		if !json.Valid(r.Data) {
			return errors.New("not JSON")
		}
	}
	return nil
}
