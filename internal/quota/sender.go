package quota

import "strings"

// Sender is whom posts are counted for. It goes with their records through the topic, so that those who find events know
// too; the zero Sender is everybody without a token.
type Sender string

const (
	tokenPrefix = "token:"
	feedPrefix  = "feed:"
)

// Token is who presents the token of that name; "": everybody, where there are no tokens.
func Token(name string) Sender {
	if name == "" {
		return ""
	}
	return Sender(tokenPrefix + name)
}

// Feed is a source of the configuration, such as kafka/refrain.
func Feed(name string) Sender { return Sender(feedPrefix + name) }

// Name is that of the token or feed.
func (s Sender) Name() string {
	_, name, _ := strings.Cut(string(s), ":")
	return name
}

func (s Sender) feed() bool { return strings.HasPrefix(string(s), feedPrefix) }

// Kind is KindToken or KindFeed.
func (s Sender) Kind() string {
	if s.feed() {
		return KindFeed
	}
	return KindToken
}
