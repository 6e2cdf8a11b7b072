package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream/broker/internal/disk"
	"cancha/stream/broker/internal/guard"
)

// faults passes kfake's warnings and errors on to a logger; what clients are told anyway (refused requests) is left out.
//
// It also knows from them what could not be written: kfake answers for a batch of records that it cannot write with an error, but for all
// else as if it were written. So the answer to a request during which something could not be written is put right (see [faults.answer]), and
// until writing works again what would have to be written is refused.
type faults struct {
	log *slog.Logger
	dir string // empty: in memory, where nothing can fail

	failed  atomic.Uint64 // writes
	failing atomic.Bool
	topics  atomic.Bool // kfake has topics that their list lacks
}

// Logf implements kfake.Logger. kfake calls it where the fault is: before it answers, and before it writes anything more.
func (f *faults) Logf(level kfake.LogLevel, format string, args ...any) {
	if level == kfake.LogLevelNone || level > kfake.LogLevelWarn {
		return
	}
	text := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(text, "persist") {
		f.log.Warn("broker: " + text)
		return
	}
	f.failed.Add(1)
	if strings.HasPrefix(text, "persist topics") {
		f.topics.Store(true)
	}
	if strings.Contains(text, "entry write") {
		if err := disk.Trim(f.dir); err != nil {
			f.log.Error("broker: cannot cut off a part of an entry", "cause", err)
		}
	}
	if !f.failing.Swap(true) {
		f.log.Error("broker: cannot write its data; producers, commits and new topics are refused until it can", "cause", text)
	}
}

// changes are the requests that kfake answers as if all had been written.
var changes = []kmsg.Key{
	kmsg.OffsetCommit, kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.DeleteRecords, kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn,
	kmsg.EndTxn, kmsg.TxnOffsetCommit, kmsg.AlterConfigs, kmsg.CreatePartitions, kmsg.DeleteGroups, kmsg.IncrementalAlterConfigs, kmsg.OffsetDelete,
}

// count is how many writes have failed.
func (f *faults) count() uint64 { return f.failed.Load() }

// answer is what is sent for an answer: where a write has failed since the request came, that a change has failed.
func (f *faults) answer(to guard.Request, answer []byte) []byte {
	if to.Arrived == f.failed.Load() || !slices.Contains(changes, kmsg.Key(to.Kind)) {
		return answer
	}
	res := kmsg.ResponseForKey(to.Kind)
	res.SetVersion(to.Version)
	head := 8 // length and number
	if res.IsFlexible() {
		head++ // no tags
	}
	if len(answer) < head || res.ReadFrom(answer[head:]) != nil {
		return answer // not kfake's
	}
	fail(reflect.ValueOf(res).Elem())
	failed := res.AppendTo(bytes.Clone(answer[:head]))
	binary.BigEndian.PutUint32(failed, uint32(len(failed)-4))
	return failed
}

// fail puts an error where an answer says that there is none, at each place that has one.
func fail(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); v.Type().Field(i).Name == "ErrorCode" {
				if field.Int() == 0 {
					field.SetInt(int64(kerr.KafkaStorageError.Code))
				}
			} else {
				fail(field)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			fail(v.Index(i))
		}
	}
}

// rules are what a cluster is given to refuse while something cannot be written. Batches are, where one may be of a topic that is not on
// the list, with what kfake itself says of one that it cannot write: a client that took it for something passing would send it again, with a
// number that kfake has seen already.
func (f *faults) rules() []kfake.Fault {
	return []kfake.Fault{
		{Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Err: kerr.UnknownServerError, When: func(kmsg.Request) bool { return f.topics.Load() }},
		{
			Keys:  []kmsg.Key{kmsg.OffsetCommit, kmsg.TxnOffsetCommit, kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs},
			Count: -1, Err: kerr.KafkaStorageError, When: func(kmsg.Request) bool { return f.failing.Load() },
		},
	}
}

// room is what has to be free for writing to work again.
const room = 256 << 10

// again looks whether writing works again, and lets clients write if so.
func (f *faults) again(c *kfake.Cluster) {
	if !f.failing.Load() {
		return
	}
	err := f.try()
	if err == nil && f.topics.Load() {
		err = f.listTopics(c)
	}
	if err == nil {
		f.failing.Store(false)
		f.log.Info("broker: writes its data again")
	}
}

func (f *faults) try() error {
	path := filepath.Join(f.dir, "room.tmp") // kfake removes such a file that was left behind
	err := os.WriteFile(path, bytes.Repeat([]byte{1}, room), 0o644)
	return errors.Join(err, os.Remove(path))
}

// trial is a topic that is there for a moment, so that kfake writes the list of topics: it has no other way to be asked for it.
const trial = "__cancha-trial"

func (f *faults) listTopics(c *kfake.Cluster) error {
	before := f.failed.Load()
	if err := c.CreateTopic(trial, 1, nil); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	if err := c.DeleteTopic(trial); err != nil {
		return err
	}
	if f.failed.Load() != before {
		return errors.New("the list of topics cannot be written")
	}
	f.topics.Store(false)
	return nil
}

// makeTopic makes a topic that can be written to the list, or none.
func (f *faults) makeTopic(c *kfake.Cluster, name string) {
	if f.failing.Load() {
		return
	}
	before := f.failed.Load()
	err := c.CreateTopic(name, -1, nil) // a name that is none is refused, here and to whoever writes to it
	if err == nil && f.failed.Load() != before {
		_ = c.DeleteTopic(name)
	}
}
