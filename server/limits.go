package server

import (
	"time"

	"refrain/api"
	httpsource "refrain/ingest/http"
	"refrain/publish"
)

// Limits bound what the clients of the HTTP API may take, all together: a small deployment meets none of them.
type Limits struct {
	Connections  int           `yaml:"connections"`  // at a time; beyond them only /livez, /readyz and /metrics answer
	HeaderBytes  Bytes         `yaml:"header_bytes"` // of a request's line and header
	ReadTimeout  time.Duration `yaml:"read_timeout"` // for a body to arrive; an upload may stand still for so long
	WriteTimeout time.Duration `yaml:"write_timeout"`
	Streams      int           `yaml:"streams"`      // clients of GET /v1/events at a time
	StreamBytes  Bytes         `yaml:"stream_bytes"` // what waits for them, all together
	Uploads      int           `yaml:"uploads"`      // requests that send posts, at a time
	UploadBytes  Bytes         `yaml:"upload_bytes"` // what they hold of bodies and answers, all together
	Matches      int           `yaml:"matches"`      // requests that look a text up or explain, at a time
	MatchResults int           `yaml:"match_results"`
}

func defaultLimits() Limits {
	a, e, u := api.DefaultLimits(), publish.DefaultEvents(), httpsource.Default()
	return Limits{
		Connections: 2000, HeaderBytes: 64 << 10, ReadTimeout: a.ReadTimeout, WriteTimeout: a.WriteTimeout,
		Streams: e.MaxClients, StreamBytes: Bytes(e.MaxBytes), Uploads: u.MaxUploads, UploadBytes: Bytes(u.UploadBytes),
		Matches: a.Matches, MatchResults: a.MatchResults,
	}
}

// api are the limits of the requests that are answered there.
func (l *Limits) api() api.Limits {
	a := api.DefaultLimits()
	a.ReadTimeout, a.WriteTimeout, a.Matches, a.MatchResults = l.ReadTimeout, l.WriteTimeout, l.Matches, l.MatchResults
	return a
}

func (v *validation) limits(l *Limits) {
	v.want(l.Connections > 0, "limits.connections", "want 1 or more")
	v.want(l.HeaderBytes >= 4<<10, "limits.header_bytes", "want 4KiB or more")
	v.want(l.ReadTimeout > 0 && l.ReadTimeout <= maxDuration, "limits.read_timeout", "want more than 0")
	v.want(l.WriteTimeout > 0 && l.WriteTimeout <= maxDuration, "limits.write_timeout", "want more than 0")
	v.want(l.Streams > 0, "limits.streams", "want 1 or more")
	v.want(l.StreamBytes >= 4<<20, "limits.stream_bytes", "want 4MiB or more: a record may have 1 MiB")
	v.want(l.Uploads > 0, "limits.uploads", "want 1 or more")
	v.want(l.UploadBytes >= 24<<20, "limits.upload_bytes", "want 24MiB or more: the JSON of one post may have 8 MiB")
	v.want(l.Matches > 0, "limits.matches", "want 1 or more")
	v.want(l.MatchResults > 0, "limits.match_results", "want 1 or more")
}
