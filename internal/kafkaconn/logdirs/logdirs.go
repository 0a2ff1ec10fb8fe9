// Package logdirs asks a broker how many bytes it has of each partition, which the client library cannot: DescribeLogDirs,
// version 1.
package logdirs

import (
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

func init() { protocol.Register(&Request{}, &Response{}) }

// Request is for one broker.
type Request struct {
	Topics []RequestTopic `kafka:"min=v1,max=v1"`

	broker int32
}

// RequestTopic is some partitions of a topic.
type RequestTopic struct {
	Topic      string  `kafka:"min=v1,max=v1"`
	Partitions []int32 `kafka:"min=v1,max=v1"`
}

// Of is a request to a broker for partitions of one topic.
func Of(broker int32, topic string, partitions []int32) *Request {
	return &Request{Topics: []RequestTopic{{topic, partitions}}, broker: broker}
}

var _ protocol.BrokerMessage = (*Request)(nil)

// ApiKey implements protocol.Message.
func (*Request) ApiKey() protocol.ApiKey { return protocol.DescribeLogDirs }

// Broker implements protocol.BrokerMessage.
func (r *Request) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	b, ok := cluster.Brokers[r.broker]
	if !ok {
		return b, kafka.BrokerNotAvailable
	}
	return b, nil
}

// Response has no results where the right to ask (Describe on the cluster) is missing.
type Response struct {
	ThrottleTimeMs int32    `kafka:"min=v1,max=v1"`
	Results        []Result `kafka:"min=v1,max=v1"`
}

// Result is one directory of the broker.
type Result struct {
	ErrorCode int16           `kafka:"min=v1,max=v1"`
	LogDir    string          `kafka:"min=v1,max=v1"`
	Topics    []ResponseTopic `kafka:"min=v1,max=v1"`
}

// ResponseTopic is what a directory has of a topic.
type ResponseTopic struct {
	Name       string              `kafka:"min=v1,max=v1"`
	Partitions []ResponsePartition `kafka:"min=v1,max=v1"`
}

// ResponsePartition is what it has of a partition, or will have once it has been moved there.
type ResponsePartition struct {
	PartitionIndex int32 `kafka:"min=v1,max=v1"`
	PartitionSize  int64 `kafka:"min=v1,max=v1"`
	OffsetLag      int64 `kafka:"min=v1,max=v1"`
	IsFutureKey    bool  `kafka:"min=v1,max=v1"`
}

// ApiKey implements protocol.Message.
func (*Response) ApiKey() protocol.ApiKey { return protocol.DescribeLogDirs }

// Bytes is the sum over all partitions. known is false where the broker did not say.
func (r *Response) Bytes() (sum int64, known bool) {
	for _, dir := range r.Results {
		known = known || dir.ErrorCode == 0
		for _, t := range dir.Topics {
			for _, p := range t.Partitions {
				if !p.IsFutureKey {
					sum += p.PartitionSize
				}
			}
		}
	}
	return sum, known
}
