package config

import (
	"cmp"
	"regexp"
	"strings"
)

var wrongType = regexp.MustCompile("cannot unmarshal !!\\w+ (`[^`]*` )?into (\\S+)")

// kinds says in words what a Go type wants. What is not here is a section.
var kinds = map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false", "string": "a text", "server.Secret": "a text",
	"time.Duration": "a time such as 90m, 24h or 7d", "server.Bytes": "a size such as 64MB or 1.5GiB"}

// isPlain is for what may be quoted: a text that stands for a section or a list may be the secret that belongs into it.
func isPlain(goType string) bool { return kinds[goType] != "" && goType != "server.Secret" }

func wants(goType string) string {
	if strings.HasPrefix(goType, "[]") {
		return "a list"
	}
	return cmp.Or(kinds[goType], "a section of settings")
}

// plainly says what the decoder says without the names of Go types.
func plainly(messages []string) []string {
	for i, m := range messages {
		f := wrongType.FindStringSubmatch(m)
		if f == nil {
			continue
		}
		value := ""
		if isPlain(f[2]) {
			value = strings.Replace(f[1], "` ", "`: ", 1)
		}
		messages[i] = strings.Replace(m, f[0], value+"want "+wants(f[2]), 1)
	}
	return messages
}
