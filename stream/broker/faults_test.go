package broker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// patience is how long a test waits for what comes in moments unless it does not come at all.
const patience = time.Minute

// blocked has a folder in the place of a file, which then cannot be written, until unblock is called.
func blocked(t *testing.T, path string) (unblock func()) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// commit commits an offset of a group, and returns the answer.
func commit(t *testing.T, c *kgo.Client, offset int64) error {
	t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = "g"
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "t"
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Offset = offset
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return kerr.ErrorForCode(res.Topics[0].Partitions[0].ErrorCode)
}

// committed is the offset of the group.
func committed(t *testing.T, c *kgo.Client) int64 {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = "g"
	req.Groups, req.Group = append(req.Groups, group), "g"
	res, err := req.RequestWith(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Groups) != 1 || len(res.Groups[0].Topics) != 1 {
		return -1
	}
	return res.Groups[0].Topics[0].Partitions[0].Offset
}

func makeTopic(t *testing.T, c *kgo.Client, name string) error {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return kerr.ErrorForCode(res.Topics[0].ErrorCode)
}

// until calls do until it returns nil.
func until(t *testing.T, do func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // nothing tells
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// killed is a broker on what the directory of another one holds now, as after kill -9.
func killed(t *testing.T, dir string) *Broker {
	t.Helper()
	now := t.TempDir()
	if err := os.CopyFS(now, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return start(t, Config{Dir: now})
}

// namer is a client whose commits name their topics, and do not number them.
func namer(t *testing.T, addr string) *kgo.Client {
	t.Helper()
	return client(t, addr, kgo.MaxVersions(kversion.V3_0_0()))
}

// TestCommitThatCannotBeWritten is refused, and one that can be again is there after kill -9.
func TestCommitThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	c := namer(t, b.Addr())
	if err := c.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	unblock := blocked(t, filepath.Join(dir, "groups.log"))
	for range 2 { // the first is one that kfake tries to write
		if err := commit(t, c, 1); !errors.Is(err, kerr.KafkaStorageError) {
			t.Fatalf("a commit that cannot be written: %v", err)
		}
	}
	if err := c.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Errorf("records can be written: %v", err)
	}
	unblock()
	until(t, func() error { return commit(t, c, 2) })
	if got := committed(t, namer(t, killed(t, dir).Addr())); got != 2 {
		t.Errorf("after kill -9 the group's offset is %d, want 2", got)
	}
}

// TestTopicThatCannotBeListed is refused, and so are records, until the list can be written.
func TestTopicThatCannotBeListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	c := client(t, b.Addr())
	if err := c.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	unblock := blocked(t, filepath.Join(dir, "topics.json.tmp"))
	for range 2 {
		if err := makeTopic(t, c, "u"); !errors.Is(err, kerr.KafkaStorageError) {
			t.Fatalf("a topic that cannot be listed: %v", err)
		}
	}
	if err := c.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); !errors.Is(err, kerr.UnknownServerError) {
		t.Errorf("records, while a topic is not listed: %v", err)
	}
	unblock()
	until(t, func() error {
		if err := makeTopic(t, c, "u"); !errors.Is(err, kerr.TopicAlreadyExists) {
			return err
		}
		return nil
	})
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "u", Value: []byte("y")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	again := killed(t, dir)
	if info := again.cluster.TopicInfo("u"); info == nil {
		t.Error("after kill -9 the topic is gone")
	}
	if info := again.cluster.TopicInfo(trial); info != nil {
		t.Error("the trial's topic is there")
	}
	list, err := os.ReadFile(filepath.Join(dir, "topics.json"))
	if err != nil || strings.Contains(string(list), trial) {
		t.Errorf("the list is %s, %v", list, err)
	}
}
