package feed

import (
	"strings"
	"unicode"
)

// Deployment is who found a match, as its event says.
type Deployment struct {
	Name string // CloudEvents source: a URI-reference
	// Schemas is the absolute URL, with its slash at the end, below which the JSON Schemas of the events' data are; "": events
	// name none.
	Schemas string
}

// SchemaFile is the name of the JSON Schema of the data of an event of a CloudEvents type.
func SchemaFile(eventType string) string { return eventType + ".json" }

// dataschema is the CloudEvents attribute of that name, "" without one.
func (d *Deployment) dataschema(eventType string) string {
	if d.Schemas == "" {
		return ""
	}
	return d.Schemas + SchemaFile(eventType)
}

// AppendContent appends the attributes of an event that say what its data are: datacontenttype, and dataschema where the
// deployment has one. A comma stands before them, and none behind.
func (d *Deployment) AppendContent(dst []byte, eventType string) []byte {
	dst = append(dst, `,"datacontenttype":"application/json"`...)
	if s := d.dataschema(eventType); s != "" {
		dst = appendString(append(dst, `,"dataschema":`...), s)
	}
	return dst
}

// Attribute is a string as a CloudEvents attribute can hold it (CloudEvents 1.0.2, section 3.1, String): what Unicode has as
// control characters and noncharacters is written as the percent-encoded bytes of its UTF-8. Nothing else is, not the percent
// sign either, so that all other strings stay as they are.
func Attribute(s string) string {
	if !strings.ContainsFunc(s, isForbidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !isForbidden(r) {
			b.WriteRune(r)
			continue
		}
		const digits = "0123456789ABCDEF"
		for _, c := range []byte(string(r)) {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func isForbidden(r rune) bool {
	return unicode.IsControl(r) || r >= 0xFDD0 && r <= 0xFDEF || r&0xFFFE == 0xFFFE
}
