package problem

// Type is a kind of problem: what clients go by. docs/problems.md has a section for each, of its name.
//
// Its URI is a URN: absolute, so that it is the same string whatever the server is called and whatever prefix a proxy adds
// (RFC 9457, section 3.1.1, advises against relative ones), and of no host, since the documentation has none of its own.
type Type struct{ name, title string }

// prefix is what the URI of every type begins with.
const prefix = "urn:refrain:problem:"

// String is the URI; "about:blank" of no type, which is for answers that are not Refrain's own.
func (t Type) String() string {
	if t.name == "" {
		return "about:blank"
	}
	return prefix + t.name
}

// Name is the URI without what all of them begin with.
func (t Type) Name() string { return t.name }

// Types are all there are.
func Types() []Type { return all }

var all []Type

func of(name, title string) Type {
	t := Type{name, title}
	all = append(all, t)
	return t
}

// What is wrong with the request.
var (
	BadParameter    = of("bad-parameter", "A parameter is wrong")
	BadBody         = of("bad-body", "The body cannot be read")
	NoPosts         = of("no-posts", "There is no post in the body")
	NonePosted      = of("no-post-accepted", "No post was accepted")
	BodyTimeout     = of("body-timeout", "The body did not arrive in time")
	TooLarge        = of("too-large", "The body is too large")
	MediaType       = of("content-type", "The body is of a type that is not taken here")
	ContentEncoding = of("content-encoding", "The body is encoded in a way that is not taken here")
	NotAcceptable   = of("not-acceptable", "No answer of a type that the client accepts")
	Method          = of("method", "The method is not served here")
	NoSuchPath      = of("no-such-path", "Nothing is served here")
)

// Who may not ask.
var (
	NeedsToken = of("token", "A token is needed")
	NeedsScope = of("scope", "The token has not the scope for this")
	OtherHost  = of("host", "The server does not answer to this name")
	Forwarded  = of("forwarded", "The server answers to no proxy")
	OtherSite  = of("other-site", "A page of another site may not ask")
)

// What is not there, or cannot be used.
var (
	OtherRole     = of("other-role", "Another process answers this")
	OtherVersion  = of("other-version", "The process is of another version")
	NoIndex       = of("no-index", "There is no index of reuse")
	UnknownText   = of("unknown-text", "No repetition of this text is known")
	Deleted       = of("deleted", "The post was deleted")
	NoSuchWebhook = of("no-such-webhook", "There is no such webhook")
	WebhookBusy   = of("webhook-busy", "The webhook is being sent events again")
	WebhookAway   = of("webhook-away", "The webhook runs in a process that cannot be asked")
	EventsGone    = of("events-gone", "The events of this time are not kept any more")
	NoSuchModel   = of("no-such-model", "There is no such model")
	ModelBusy     = of("model-busy", "A model is being learned or taken on")
	BrokenModel   = of("model-broken", "The model cannot be used")
)

// What a limit or a quota is the cause of; those that are called limits name the setting.
var (
	Connections   = of("limits.connections", "There are too many connections")
	Uploads       = of("limits.uploads", "There are too many uploads")
	Streams       = of("limits.streams", "Too many clients follow the events")
	Matches       = of("limits.matches", "Too many texts are being looked up")
	Quota         = of("quota", "Quota used up")
	Pace          = of("pace", "Look-ups are behind")
	QueueFull     = of("queue-full", "The queue of posts is full")
	TopicFull     = of("topic-full", "No room for posts")
	DeletionsFull = of("deletions-full", "No room for deletions")
)

// What the server cannot do now.
var (
	WindowHeld       = of("match-held", "The window is held")
	NotDurable       = of("not-durable", "The posts could not be made durable")
	NoEvents         = of("events-unavailable", "The events cannot be read")
	IndexIncomplete  = of("index-incomplete", "The index of reuse is being made again")
	IndexUnavailable = of("index-unavailable", "The index of reuse cannot be asked")
	GivenUp          = of("given-up", "The request was given up")
	Stopping         = of("stopping", "The server is stopping")
	NotReady         = of("not-ready", "Not ready")
	NotLive          = of("not-live", "The process cannot go on")
	Internal         = of("internal", "Something went wrong in the server")
)
