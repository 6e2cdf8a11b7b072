package stream_test

import (
	"testing"

	"cancha/stream"
	"cancha/stream/streamtest"
)

// memoryTopic lets the suite write to a source in memory.
type memoryTopic struct{ source *stream.MemorySource }

func (m memoryTopic) Append(_ testing.TB, partition int, values ...[]byte) {
	for _, v := range values {
		m.source.Append(partition, stream.Record{Value: v})
	}
}

func (m memoryTopic) Source(testing.TB) stream.Source { return m.source }

func TestMemorySource(t *testing.T) {
	streamtest.TestSource(t, func(t *testing.T, partitions int) streamtest.Topic {
		return memoryTopic{stream.Memory("memory", make([][]stream.Record, partitions)).Follow()}
	})
}
