// Api drives a server through the client that oapi-codegen makes of openapi.yaml: it posts the lines on stdin, follows the
// events up to the first, looks a text up, asks what a post repeats, and deletes it: api URL ID TEXT. What came of it is a
// line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"refrain/internal/e2e/contracts/clients/refrain"
)

func main() {
	client, err := refrain.NewClientWithResponses(os.Args[1])
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	id, text := os.Args[2], os.Args[3]

	var came struct {
		Accepted, Deleted int
		Event, Problem    string
	}
	posted, err := client.AddPostsWithBodyWithResponse(ctx, nil, "application/x-ndjson", os.Stdin)
	check(err)
	came.Accepted = posted.JSON200.Accepted
	came.Event = firstEvent(ctx, client)
	for matches := 0; matches == 0; {
		found, err := client.MatchTextWithResponse(ctx, refrain.Query{Text: text})
		check(err)
		matches = len(found.JSON200.Sentences[0].Matches)
	}
	for repeats := 0; repeats == 0; { // the index follows the events
		reuse, err := client.PostReuseWithResponse(ctx, id, nil)
		check(err)
		repeats = len(reuse.JSON200.Repeats)
	}
	deleted, err := client.DeletePostWithResponse(ctx, id, nil)
	check(err)
	came.Deleted = deleted.StatusCode()
	for came.Problem == "" { // nor is it gone at once
		gone, err := client.PostReuseWithResponse(ctx, id, nil)
		check(err)
		if gone.ApplicationproblemJSON404 != nil {
			came.Problem = gone.ApplicationproblemJSON404.Type
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(came))
}

// firstEvent follows a stream that does not end, and stops it.
func firstEvent(ctx context.Context, client *refrain.ClientWithResponses) (id string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	from, format := refrain.FollowEventsParamsFromStart, refrain.Ndjson
	resp, err := client.FollowEvents(ctx, &refrain.FollowEventsParams{From: &from, Format: &format})
	check(err)
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
	check(err)
	var event refrain.Event
	check(json.Unmarshal(line, &event))
	kind, err := event.ValueByDiscriminator()
	check(err)
	reuse, ok := kind.(refrain.ReuseEvent)
	if !ok {
		log.Fatalf("the first event is %T: %s", kind, line)
	}
	return fmt.Sprint(reuse.Id)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
