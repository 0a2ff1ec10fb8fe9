package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// Error codes of the JetStream API.
const (
	codeStoreFailed      = 10077 // a limit of the stream is reached with DiscardNew
	codeInsufficient     = 10023 // the account's limits are
	codeResources        = 10002
	codeNoPeers          = 10005
	codeUnavailable      = 10008
	codeTooManyConsumers = 10026
	codeTooManyStreams   = 10027
	codeNoDisk           = 10047
	codeNotCreated       = 10049 // its files could not be made: those of a stream that was just removed may still be there
	codeOverlap          = 10065
	codeNoCluster        = 10074
	codeWantsLimit       = 10113
	codeOffline          = 10118
	codeLimitTooHigh     = 10122
)

// errChanged says that somebody else has changed a stream meanwhile.
var errChanged = errors.New("the stream was made by another process at the same time")

func hasCode(err error, codes ...js.ErrorCode) bool {
	var api *js.APIError
	if !errors.As(err, &api) {
		return false
	}
	for _, code := range codes {
		if api.ErrorCode == code {
			return true
		}
	}
	return false
}

// isUnavailable: a cluster that is choosing its leader, or has lost one, may do it in a moment. Servers that have just
// started do not know each other yet and have no place for three replicas.
func isUnavailable(err error) bool {
	return hasCode(err, codeUnavailable, codeOffline, codeNoPeers, codeNotCreated) || errors.Is(err, errChanged) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, js.ErrNoStreamResponse) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, context.DeadlineExceeded) || isDisconnected(err)
}

// IsUnavailable reports whether an error of opening may be gone in a moment: nobody was reached, or a leader is being chosen.
func IsUnavailable(err error) bool { return isUnavailable(err) || errors.Is(err, nats.ErrNoServers) }

func isDisconnected(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrConnectionReconnecting)
}

// explainAPI adds to an error of the server what to do.
func explainAPI(err error, stream string) error {
	if hint := hintOf(err, stream); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

func hintOf(err error, stream string) string {
	switch {
	case err == nil:
	case errors.Is(err, js.ErrJetStreamNotEnabled), errors.Is(err, js.ErrJetStreamNotEnabledForAccount):
		return "switch it on: jetstream {store_dir: ...} in the server's configuration, and jetstream: enabled for our account"
	case hasCode(err, codeOverlap):
		return fmt.Sprintf("another stream takes subjects of %s.*: nats stream find --subject='%s.0' names it; give the topics "+
			"another name (topics.name), or the other stream other subjects", stream, stream)
	case hasCode(err, codeNoCluster):
		return "the server is no cluster: set topics.replicas to 1"
	case hasCode(err, codeTooManyStreams, codeTooManyConsumers, codeResources, codeNoDisk, codeInsufficient):
		return "a limit of the account or of the server's storage: nats account info shows them; raise max_streams, " +
			"max_consumers or max_file, or set a smaller limit for the topics"
	case hasCode(err, codeWantsLimit):
		return "set a limit in bytes for the topics (topics.max_bytes), or take max_bytes_required off the account"
	case hasCode(err, codeLimitTooHigh):
		return "set a smaller limit in bytes for the topics, or raise the account's disk_max_stream_bytes"
	case errors.Is(err, nats.ErrPermissionViolation):
		return "our user must be allowed to publish to $JS.API.> and to the topics' subjects, and to subscribe to _INBOX.>"
	}
	return ""
}

// explainPlaces says what a cluster lacks that has had no place for a stream all the time.
func (c *Cluster) explainPlaces(err error) error {
	if !hasCode(err, codeNoPeers) {
		return err
	}
	return fmt.Errorf("%w: the cluster has no %d servers that are up and have room: start the missing ones "+
		"(nats server report jetstream), or set topics.replicas to how many there are", err, c.replicas())
}
