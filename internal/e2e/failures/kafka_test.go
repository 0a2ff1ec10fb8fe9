package failures

import (
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// onKafka is a service on a broker, and what an operator uses to change that.
type onKafka struct {
	*service
	client *kafka.Client
}

func newOnKafka(t *testing.T, addr string) *onKafka {
	return &onKafka{newService(t, e2e.KafkaTopics(addr)), operator(t, addr)}
}

// set is kafka-configs.sh --alter --add-config.
func (s *onKafka) set(topic, setting, value string) {
	s.TB.Helper()
	res, err := s.client.IncrementalAlterConfigs(s.TB.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: setting, Value: value}}}},
	})
	if err == nil && res.Resources[0].Error != nil {
		err = res.Resources[0].Error
	}
	if err != nil {
		s.TB.Fatal(err)
	}
}

func (s *onKafka) setting(topic, name string) string {
	s.TB.Helper()
	res, err := s.client.DescribeConfigs(s.TB.Context(), &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{name}}},
	})
	if err != nil || len(res.Resources) != 1 || len(res.Resources[0].ConfigEntries) != 1 {
		s.TB.Fatal(err, res)
	}
	return res.Resources[0].ConfigEntries[0].ConfigValue
}

func (s *onKafka) delete(topic string) {
	s.TB.Helper()
	res, err := s.client.DeleteTopics(s.TB.Context(), &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err == nil {
		err = res.Errors[topic]
	}
	if err != nil {
		s.TB.Fatal(err)
	}
}

func (s *onKafka) create(topic string, partitions int) {
	s.TB.Helper()
	s.Await(20*time.Second, "new topic", func() bool { // the old one's deletion takes a moment
		res, err := s.client.CreateTopics(s.TB.Context(), &kafka.CreateTopicsRequest{
			Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}}})
		return err == nil && res.Errors[topic] == nil
	})
}

func (s *onKafka) addPartitions(topic string, n int32) {
	s.TB.Helper()
	res, err := s.client.CreatePartitions(s.TB.Context(), &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: n}}})
	if err == nil {
		err = res.Errors[topic]
	}
	if err != nil {
		s.TB.Fatal(err)
	}
}

// TestKafkaSettingsChanged: what only keeps more is set again; with anything else nothing is accepted until somebody has.
func TestKafkaSettingsChanged(t *testing.T) {
	s := newOnKafka(t, devservers.Kafka(t))
	s.Start()
	s.post(s.part(0))
	sentences := s.topic("sentences")
	retention := s.setting(sentences, "retention.ms")
	s.set(sentences, "retention.ms", "3600000")
	s.addPartitions(sentences, 4) // nobody notices
	s.addPartitions(s.topic("events"), 2)
	s.set(sentences, "unclean.leader.election.enable", "true")
	s.wantNotReady("storage", "topic "+sentences, "unclean.leader.election.enable is true, want false", "retention.ms is 3600000",
		"mend it with: kafka-configs.sh --bootstrap-server")
	s.wantRefused()
	s.set(sentences, "unclean.leader.election.enable", "false")
	s.AwaitReady(30 * time.Second)
	if now := s.setting(sentences, "retention.ms"); now != retention {
		t.Errorf("retention.ms is %s, was %s", now, retention)
	}
	s.wantLog("a topic takes records again", "changed a setting of a topic")
	s.post(s.part(1))
	s.wantEvents(s.lines[:500])
	_ = s.Kill(9)
	s.Start()
	s.wantLog("somebody has added partitions to a topic")
	s.post(s.part(2))
	s.wantEvents(s.lines[:750])
}

// TestKafkaTopicDeleted: each topic is made anew, and what is sent again is found again.
func TestKafkaTopicDeleted(t *testing.T) {
	s := newOnKafka(t, devservers.Kafka(t))
	s.Start()
	topics := []string{"sentences"}
	if *e2e.Full {
		topics = []string{"sentences", "events", "state", "control", "topics", "match"}
	}
	for i, name := range topics {
		known := s.lines[:250*min(i+1, 4)]
		s.post(s.part(i % 4))
		s.wantEvents(known)
		s.delete(s.topic(name))
		s.wantNotReady("storage", "topic "+s.topic(name)+" is gone: somebody has deleted it")
		s.wantRestarts(i+1, "topic "+s.topic(name)+" has been deleted with all that it held")
		s.AwaitReady(time.Minute)
		s.post(known)
		s.wantEvents(known)
	}
}

// TestKafkaTopicMadeAnew: somebody deletes and creates a topic so quickly that it is never missing, and it has more records
// than before by the time that anybody reads on.
func TestKafkaTopicMadeAnew(t *testing.T) {
	s := newOnKafka(t, devservers.Kafka(t))
	s.Start()
	s.post(s.part(0))
	s.wantEvents(s.part(0))
	s.delete(s.topic("sentences"))
	s.create(s.topic("sentences"), 3)
	s.wantRestarts(1, "a topic is another one than it was")
	s.AwaitReady(time.Minute)
	s.post(s.lines[:500])
	s.wantEvents(s.lines[:500])
}
