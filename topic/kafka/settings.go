package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"refrain/internal/kafkaconn"
	"refrain/internal/retry"
	"refrain/topic"
)

// setting is one of a topic, as it is to be and as it may be.
type setting struct {
	name, want string
	accept     func(is string) bool
	// adjust says that we set it ourselves on a topic that exists, if we may: it drops nothing that anybody counts on.
	adjust bool
}

// batchOverhead is what a batch of one record has around its data: its header, the record's lengths, our headers.
const batchOverhead = 64 << 10

// segmentBytes is how much Kafka drops at a time, at most: it counts the age of the newest record in a segment.
const segmentBytes = 256 << 20

func equal(want string) func(string) bool { return func(is string) bool { return is == want } }

// atLeast accepts numbers from a minimum on; -1 is none, so no limit.
func atLeast(minimum int64) func(string) bool {
	return func(is string) bool {
		n, err := strconv.ParseInt(is, 10, 64)
		return err == nil && (n >= minimum || n == -1)
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// settingsOf are those that a topic must have.
func (c *Cluster) settingsOf(t *TopicConfig) []setting {
	s := c.commonSettings(t.MaxRecord)
	s = append(s, setting{"message.timestamp.type", "CreateTime", equal("CreateTime"), false})
	if t.Compact {
		return append(s, compacted()...)
	}
	s = append(s, setting{"cleanup.policy", "delete", equal("delete"), false}, retention(t),
		setting{"segment.bytes", decimal(segmentBytes), atLeast(0), false})
	share := int64(-1)
	if t.MaxBytes > 0 {
		share = max(1, t.MaxBytes/int64(t.Partitions))
	}
	s = append(s, setting{"retention.bytes", decimal(share), equal(decimal(share)), true})
	if t.Prompt {
		delta := decimal(c.cfg.Delta.Milliseconds())
		s = append(s, setting{"message.timestamp.before.max.ms", delta, equal(delta), true},
			setting{"message.timestamp.after.max.ms", delta, equal(delta), true})
	}
	return s
}

func (c *Cluster) commonSettings(maxRecord int) []setting {
	inSync, largest := int64(c.minInSync()), int64(maxRecord+batchOverhead)
	return []setting{
		{"min.insync.replicas", decimal(inSync), atLeast(inSync), false},
		{"unclean.leader.election.enable", "false", equal("false"), false},
		{"max.message.bytes", decimal(largest), atLeast(largest), true},
	}
}

func compacted() []setting {
	return []setting{
		{"cleanup.policy", "compact", equal("compact"), false},
		// The newest segment is never compacted, and whoever starts reads it.
		{"segment.bytes", decimal(compactSegmentBytes), atLeast(0), false},
		{"segment.ms", decimal(compactSegmentAge.Milliseconds()), atLeast(0), false},
		{"min.cleanable.dirty.ratio", "0.2", func(string) bool { return true }, false},
	}
}

const (
	compactSegmentBytes = 32 << 20
	compactSegmentAge   = time.Hour
)

// retention may be longer than asked for: that is the operator's disk.
func retention(t *TopicConfig) setting {
	if t.MaxAge == 0 && t.MinRetention == 0 {
		return setting{"retention.ms", "-1", equal("-1"), true}
	}
	if t.MaxAge == 0 {
		return setting{"retention.ms", "-1", atLeast(t.MinRetention.Milliseconds()), true}
	}
	return setting{"retention.ms", decimal(t.MaxAge.Milliseconds()),
		atLeast(cmp.Or(t.MinRetention, t.MaxAge).Milliseconds()), true}
}

// SettingsError says that a topic exists with settings with which it cannot do its work, and how to mend them.
type SettingsError struct {
	Topic   string
	Wrong   []Setting
	Command string
}

// Setting is one that is not as it must be.
type Setting struct{ Name, Is, Want string }

func (e *SettingsError) Error() string {
	var wrong []string
	for _, s := range e.Wrong {
		wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", s.Name, s.Is, s.Want))
	}
	return fmt.Sprintf("topic %s: %s; if it is this deployment's, mend it with: %s", e.Topic, strings.Join(wrong, ", "), e.Command)
}

// spec is a topic to be.
type spec struct {
	name       string
	partitions int
	settings   []setting
	made       int // with how many partitions it was, as we know: more were added by somebody; 0: we do not
}

// ensure creates a topic, or checks the one that exists. fresh says that it did not when it was looked for.
func (c *Cluster) ensure(ctx context.Context, l *link, s *spec) (fresh bool, err error) {
	m, err := l.metadata(ctx, s.name)
	if err != nil {
		return false, err
	}
	if len(m.Topics) != 1 {
		return false, fmt.Errorf("look it up: %d answers", len(m.Topics))
	}
	switch code := kafka.Error(m.Topics[0].ErrorCode); code {
	case 0, kafka.LeaderNotAvailable:
	case kafka.UnknownTopicOrPartition:
		fresh = true
		if err = c.create(ctx, l, s); err != nil {
			return false, err
		}
	default:
		return false, l.denied("Describe", code)
	}
	t, err := l.awaitLeaders(ctx)
	if err != nil {
		return false, err
	}
	if err := c.checkPartitions(len(t.Partitions), s); err != nil {
		return false, err
	}
	c.warnReplicas(t)
	if err := c.checkSettings(ctx, l, s); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spec = s
	return fresh, nil
}

// checkPartitions compares their number with what it is to be. Kafka cannot take partitions away, so those that somebody has
// added are left alone: nothing is in them.
func (c *Cluster) checkPartitions(n int, s *spec) error {
	if n != s.partitions && (n < s.partitions || s.made != s.partitions) {
		return &topic.FixedError{Topic: s.name, Setting: "partitions", Is: strconv.Itoa(n), Want: strconv.Itoa(s.partitions)}
	}
	if n > s.partitions {
		c.cfg.Logger.Warn("kafka: somebody has added partitions to a topic: they are left empty, since sentences stay where they are",
			"topic", s.name, "partitions", n, "used", s.partitions)
	}
	return nil
}

// warnReplicas says that a topic which was made with fewer replicas than there could be now keeps them.
func (c *Cluster) warnReplicas(t *metadata.ResponseTopic) {
	if n := len(t.Partitions[0].ReplicaNodes); n < c.replicas {
		c.cfg.Logger.Warn("kafka: topic has fewer replicas than it should: reassign its partitions with kafka-reassign-partitions.sh",
			"topic", t.Name, "replicas", n, "want", c.replicas)
	}
}

// denied names the right that is missing.
func (l *link) denied(operation string, err error) error {
	if errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.ClusterAuthorizationFailed) {
		return fmt.Errorf("the right to %s is missing on topic %s: grant it with: kafka-acls.sh --bootstrap-server %s --add "+
			"--allow-principal User:NAME --operation %s --topic %s: %w",
			operation, l.topic, l.cluster.cfg.Conn, operation, l.topic, err)
	}
	return l.explain(err)
}

// create makes the topic, unless another process is quicker.
func (c *Cluster) create(ctx context.Context, l *link, s *spec) error {
	cfg := kafka.TopicConfig{Topic: s.name, NumPartitions: s.partitions, ReplicationFactor: c.replicas}
	for _, one := range s.settings {
		cfg.ConfigEntries = append(cfg.ConfigEntries, kafka.ConfigEntry{ConfigName: one.name, ConfigValue: one.want})
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	res, err := l.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{cfg}})
	if err == nil {
		err = res.Errors[s.name]
	}
	switch {
	case errors.Is(err, kafka.TopicAlreadyExists):
		return nil
	case errors.Is(err, kafka.TopicAuthorizationFailed), errors.Is(err, kafka.ClusterAuthorizationFailed):
		return fmt.Errorf("it does not exist, and cannot be created: %w; or create it with: %s", l.denied("Create", err),
			c.createCommand(s))
	case err != nil:
		return fmt.Errorf("create it: %w", l.explain(err))
	}
	c.cfg.Logger.Info("kafka: created topic", "topic", s.name, "partitions", s.partitions, "replicas", c.replicas)
	return nil
}

// createTimeout bounds the making of a topic, until its leaders are there.
const createTimeout = 30 * time.Second

func (c *Cluster) createCommand(s *spec) string {
	b := fmt.Sprintf("kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions %d --replication-factor %d",
		c.cfg.Conn, s.name, s.partitions, c.replicas)
	for _, one := range s.settings {
		b += " --config " + one.name + "=" + one.want
	}
	return b
}

// awaitLeaders waits until each partition has a leader, and the library knows: a new topic's are elected a little after it
// was created.
func (l *link) awaitLeaders(ctx context.Context) (*metadata.ResponseTopic, error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	for pauses := retry.Quick(); ; {
		t, err := l.leadersNow(ctx)
		if err == nil {
			return t, nil
		}
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

func (l *link) leadersNow(ctx context.Context) (*metadata.ResponseTopic, error) {
	m, err := l.metadata(ctx, l.topic)
	if err != nil {
		return nil, err
	}
	if len(m.Topics) != 1 {
		return nil, fmt.Errorf("look it up: %d answers", len(m.Topics))
	}
	if err := led(&m.Topics[0]); err != nil {
		return nil, err
	}
	if err = l.known(ctx); err != nil {
		l.transport.CloseIdleConnections() // it begins anew, and asks at once
		err = l.known(ctx)
	}
	return &m.Topics[0], err
}

// led reports a partition without a leader.
func led(t *metadata.ResponseTopic) error {
	if t.ErrorCode != 0 {
		return fmt.Errorf("topic %s: %w", t.Name, kafka.Error(t.ErrorCode))
	}
	for _, p := range t.Partitions {
		if p.LeaderID < 0 {
			return fmt.Errorf("topic %s: partition %d has no leader: %w", t.Name, p.PartitionIndex, kafkaconn.ErrUnreachable)
		}
	}
	return nil
}

// known reports whether the library has heard of all leaders too.
func (l *link) known(ctx context.Context) error {
	leaders, err := l.leaders(ctx)
	if err != nil {
		return err
	}
	for p, leader := range leaders {
		if leader < 0 {
			return fmt.Errorf("partition %d: %w", p, kafka.LeaderNotAvailable)
		}
	}
	return nil
}

// checkSettings compares, adjusts what it may, and refuses the rest.
func (c *Cluster) checkSettings(ctx context.Context, l *link, s *spec) error {
	wrong, err := c.wrongSettings(ctx, l, s)
	if err != nil || len(wrong) == 0 {
		return err
	}
	if c.adjust(ctx, l, wrong) {
		return nil // the broker that is asked may not have heard of it yet; recheck looks again
	}
	e := &SettingsError{Topic: s.name}
	var configs []string
	for _, w := range wrong {
		e.Wrong = append(e.Wrong, Setting{w.name, w.is, w.want})
		configs = append(configs, w.name+"="+w.want)
	}
	e.Command = fmt.Sprintf("kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config %s",
		c.cfg.Conn, s.name, strings.Join(configs, ","))
	return e
}

type wrongSetting struct {
	setting
	is string
}

func (c *Cluster) wrongSettings(ctx context.Context, l *link, s *spec) (wrong []wrongSetting, err error) {
	is, err := l.describe(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range s.settings {
		if value, ok := is[one.name]; ok && !one.accept(value) {
			wrong = append(wrong, wrongSetting{one, value})
		}
	}
	return wrong, nil
}

// describe asks for the settings of the topic, until the broker that is asked has heard of it: a new one is known everywhere
// a little after it was created.
func (l *link) describe(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	for pauses := retry.Quick(); ; {
		is, err := l.describeOnce(ctx)
		if err == nil || !moved(err) || retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return is, err
		}
	}
}

func (l *link) describeOnce(ctx context.Context) (map[string]string, error) {
	res, err := l.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: l.topic},
	}})
	if err == nil && len(res.Resources) != 1 {
		err = fmt.Errorf("%d answers", len(res.Resources))
	}
	if err == nil {
		err = res.Resources[0].Error
	}
	if err != nil {
		return nil, fmt.Errorf("ask for its settings: %w", l.denied("DescribeConfigs", err))
	}
	is := map[string]string{}
	for _, e := range res.Resources[0].ConfigEntries {
		is[e.ConfigName] = e.ConfigValue
	}
	return is, nil
}

// adjust sets what is ours to set, and reports whether it has.
func (c *Cluster) adjust(ctx context.Context, l *link, wrong []wrongSetting) bool {
	var configs []kafka.IncrementalAlterConfigsRequestConfig
	for _, w := range wrong {
		if w.adjust {
			configs = append(configs, kafka.IncrementalAlterConfigsRequestConfig{Name: w.name, Value: w.want})
		}
	}
	if len(configs) == 0 || len(configs) < len(wrong) {
		return false // somebody has to look at it anyway
	}
	res, err := l.client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: l.topic, Configs: configs,
		}},
	})
	if err == nil && len(res.Resources) == 1 {
		err = res.Resources[0].Error
	}
	if err != nil {
		c.cfg.Logger.Warn("kafka: cannot change the settings of a topic", "topic", l.topic, "error", l.denied("AlterConfigs", err))
		return false
	}
	for _, w := range wrong {
		c.cfg.Logger.Info("kafka: changed a setting of a topic", "topic", l.topic, "setting", w.name, "was", w.is, "is", w.want)
	}
	return true
}
