package jetstream

import (
	"context"

	"github.com/nats-io/nats.go"
)

// DropConnection makes the server close the connection of its topics, as it does to a client that is too slow.
func (s *Server) DropConnection() error {
	id, err := s.conn.GetClientID()
	if err != nil {
		return err
	}
	return s.nats.DisconnectClientByID(id)
}

// PublishPacked writes a message that claims to hold so many records.
func (s *Server) PublishPacked(subject, records, data string) error {
	_, err := s.js.PublishMsg(context.Background(), &nats.Msg{
		Subject: subject, Header: nats.Header{headerPacked: {records}}, Data: []byte(data),
	})
	return err
}

// PublishCoded writes a message that claims to be compressed so.
func (s *Server) PublishCoded(subject, coding, data string) error {
	_, err := s.js.PublishMsg(context.Background(), &nats.Msg{
		Subject: subject, Header: nats.Header{headerCoding: {coding}}, Data: []byte(data),
	})
	return err
}

// Poll is what the watch does every two seconds.
func (c *Cluster) Poll(ctx context.Context) { c.watch.poll(ctx) }

// StopWatch leaves it to Poll.
func (c *Cluster) StopWatch() { c.watch.stop() }

// Unanswered is how often an append was not answered.
func (t *Topic) Unanswered() uint64 { return t.health.watched.away.Load() }

// Acked is how many acknowledged messages the next poll looks for.
func (t *Topic) Acked() int { return len(t.health.watched.acknowledged()) }
