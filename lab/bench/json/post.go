// Package json measures decoders of JSON on the lines of a file of posts, for the choice in docs/design/0007-route.md.
//
// It is a module of its own: none of these libraries is a dependency of Refrain.
//
//	cd lab/bench/json && REFRAIN_DATA=... go test -run Strict -v && go test -bench . -cpu 1 -count 6
package json

//go:generate go tool easyjson post.go

// post has the fields of feed.Post that are strings in JSON.
//
//easyjson:json
type post struct {
	ID        string `json:"id"`
	Source    string `json:"source"`
	Author    string `json:"author"`
	CreatedAt string `json:"created_at"`
	Lang      string `json:"lang"`
	Text      string `json:"text"`
}
