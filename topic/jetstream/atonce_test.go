package jetstream_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"refrain/internal/natsconn/natstest"
	"refrain/topic/jetstream"
)

// TestOpenedAtOnce: of processes that start at once one makes a topic or a store, and all find it, though the server that they
// ask may hear of it last.
func TestOpenedAtOnce(t *testing.T) {
	servers := natstest.MustCluster(t, 3, payload)
	var all []*jetstream.Cluster
	for i := range 6 {
		all = append(all, mustConnect(t, servers[i%len(servers)].Config()))
	}
	for i := range 5 {
		var opening errgroup.Group
		for _, c := range all {
			opening.Go(func() error {
				_, err := c.OpenStore(t.Context(), fmt.Sprintf("store-%d", i))
				return err
			})
			opening.Go(func() error {
				_, err := c.OpenTopic(t.Context(), topicConfig(func(c *jetstream.TopicConfig) { c.Name = fmt.Sprintf("topic-%d", i) }))
				return err
			})
		}
		if err := opening.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
