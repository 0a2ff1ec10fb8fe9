package api

import "context"

// TokenName is the name of the token that let a request of ctx in, "" where none was needed.
func TokenName(ctx context.Context) string {
	if o, ok := ctx.Value(observedKey{}).(*observed); ok {
		return o.who
	}
	return ""
}
