// Package accept reads the Accept header of a request (RFC 9110, section 12.5.1), and the types of bodies.
package accept

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Best is the one of some media types that a client likes best, of several the first; false: it takes none of them. A
// client that says nothing, or nothing that can be read, takes all.
func Best(h http.Header, offers ...string) (best string, ok bool) {
	ranges := parse(h.Values("Accept"))
	if len(ranges) == 0 {
		return offers[0], true
	}
	highest := 0.0
	for _, offer := range offers {
		if q := quality(ranges, offer); q > highest {
			best, highest = offer, q
		}
	}
	return best, highest > 0
}

// mediaRange is one of a header's, as application/*;q=0.5.
type mediaRange struct {
	kind    string
	quality float64
}

func parse(values []string) (ranges []mediaRange) {
	for item := range strings.SplitSeq(strings.Join(values, ","), ",") {
		kind, parameters, err := mime.ParseMediaType(item)
		if err != nil || !strings.Contains(kind, "/") {
			continue
		}
		q, err := strconv.ParseFloat(parameters["q"], 64)
		if err != nil {
			q = 1
		}
		ranges = append(ranges, mediaRange{kind, q})
	}
	return ranges
}

// quality is what the most specific range that holds a type gives it.
func quality(ranges []mediaRange, kind string) float64 {
	main, _, _ := strings.Cut(kind, "/")
	for _, wanted := range []string{kind, main + "/*", "*/*"} {
		if i := slices.IndexFunc(ranges, func(r mediaRange) bool { return r.kind == wanted }); i >= 0 {
			return ranges[i].quality
		}
	}
	return 0
}

// curls is the type that curl -d calls any body by, and other tools that have not been told better.
const curls = "application/x-www-form-urlencoded"

// Body reports whether a body may be one of some types of JSON in UTF-8: by its Content-Type, or because that says nothing.
func Body(contentType string, types ...string) bool {
	if contentType == "" {
		return true
	}
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	if set := strings.ToLower(parameters["charset"]); set != "" && set != "utf-8" && set != "us-ascii" {
		return false
	}
	return kind == curls || slices.Contains(types, kind) ||
		strings.HasSuffix(kind, "+json") && slices.Contains(types, "application/json")
}
