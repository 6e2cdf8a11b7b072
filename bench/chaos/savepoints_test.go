package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
	"cancha/stream/file"
	"cancha/stream/kafka"
	"cancha/stream/parquet"
	"cancha/stream/postgres"
)

// outlet is a kind of sink, with what reads it back.
type outlet struct {
	sink func(name string) stream.Sink
	read func(t *testing.T, name string) map[string]int

	back     bool // it can go back: what an older snapshot does not know is taken off, or comes again under its key
	replaced bool // a query that begins replaces what is there
}

// outlets are all kinds of sinks that say that they have each row once, each in a place of its own. Tables want CANCHA_POSTGRES.
func outlets(t *testing.T) map[string]func(t *testing.T) outlet {
	all := map[string]func(t *testing.T) outlet{
		"csv":            oneFile("rows.csv", file.CSV),
		"json lines":     oneFile("rows.jsonl", file.JSONLines),
		"csv epochs":     folderOf(".csv", func(dir string) stream.Sink { return file.CSVEpochs(dir) }),
		"json epochs":    folderOf(".jsonl", func(dir string) stream.Sink { return file.JSONLinesEpochs(dir) }),
		"parquet epochs": folderOf(".parquet", func(dir string) stream.Sink { return parquet.Folder(dir).As("id", stream.Int) }),
		"kafka":          topics(testBrokers(t)),
	}
	if url := os.Getenv("CANCHA_POSTGRES"); url != "" {
		all["table"], all["table with a key"] = tables(url), tables(url, "id")
	}
	return all
}

func oneFile(name string, sink func(path string) *file.Sink) func(t *testing.T) outlet {
	return func(t *testing.T) outlet {
		dir := t.TempDir()
		at := func(of string) string { return filepath.Join(dir, of+"-"+name) }
		return outlet{func(of string) stream.Sink { return sink(at(of)) },
			func(t *testing.T, of string) map[string]int { return without(t, "id", at(of)) }, true, true}
	}
}

func folderOf(end string, sink func(dir string) stream.Sink) func(t *testing.T) outlet {
	return func(t *testing.T) outlet {
		dir := t.TempDir()
		at := func(of string) string { return filepath.Join(dir, of) }
		return outlet{func(of string) stream.Sink { return sink(at(of)) },
			func(t *testing.T, of string) map[string]int { return inFolder(t, at(of), end) }, true, false}
	}
}

// serial makes names new on a server that outlives the test.
var serial atomic.Int64

func newName() string { return fmt.Sprintf("rows_%x_%d", time.Now().UnixNano(), serial.Add(1)) }

func topics(brokers []string) func(t *testing.T) outlet {
	return func(*testing.T) outlet {
		begins := newName()
		return outlet{func(of string) stream.Sink { return kafka.Sink(kafka.SinkConfig{Brokers: brokers, Topic: begins + of}) },
			func(t *testing.T, of string) map[string]int {
				got, err := committed(role{Brokers: brokers, Output: begins + of})
				if err != nil {
					t.Fatal(err)
				}
				return digits(got)
			}, false, false}
	}
}

func tables(url string, key ...string) func(t *testing.T) outlet {
	return func(*testing.T) outlet {
		begins := newName()
		return outlet{func(of string) stream.Sink {
			return postgres.Sink(postgres.Config{URL: url, Table: begins + of, Create: true, Key: key, Types: map[string]string{"id": "bigint"}})
		}, func(t *testing.T, of string) map[string]int {
			out, err := exec.Command("psql", "-X", "-q", "-t", "-A", "-c", fmt.Sprintf("SELECT id FROM %q", begins+of), url).Output()
			if err != nil {
				t.Fatal(err)
			}
			return count(strings.Fields(string(out)))
		}, len(key) > 0, false}
	}
}

func testBrokers(t *testing.T) []string {
	if at := os.Getenv("CANCHA_KAFKA"); at != "" {
		return []string{at}
	}
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return []string{b.Addr()}
}

func count(lines []string) map[string]int {
	n := map[string]int{}
	for _, line := range lines {
		n[line]++
	}
	return n
}

// digits makes lines of all formats alike: what is a digit in them stays.
func digits(of map[string]int) map[string]int {
	n := map[string]int{}
	for line, times := range of {
		n[strings.Trim(line, `{}"id: `)] += times
	}
	return n
}

// without counts the lines of files, but for those that are the header.
func without(t *testing.T, header string, paths ...string) map[string]int {
	t.Helper()
	n, err := lines(paths...)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	delete(n, header)
	return digits(n)
}

func inFolder(t *testing.T, dir, end string) map[string]int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+end))
	if err != nil {
		t.Fatal(err)
	}
	if end != ".parquet" {
		return without(t, "id", paths...)
	}
	n := map[string]int{}
	for _, path := range paths {
		rows, err := pq.ReadFile[struct {
			ID int64 `parquet:"id,optional"`
		}](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			n[fmt.Sprint(r.ID)]++
		}
	}
	return n
}

// world is a topic, which several queries read, and the sinks and checkpoints of a case.
type world struct {
	*testing.T
	dir    string
	topic  *stream.MemorySource
	outlet outlet
}

const inTopic = 400

func newWorld(t *testing.T, o outlet) *world {
	w := &world{t, t.TempDir(), nil, o}
	var records []stream.Record
	for i := range inTopic {
		records = append(records, stream.Record{Value: fmt.Appendf(nil, `{"id":%d}`, i)})
	}
	w.topic = stream.Memory("ids", [][]stream.Record{records}).BatchSize(7).Follow()
	return w
}

func (w *world) place(name string) string { return filepath.Join(w.dir, name) }

// life reads so many records more of the checkpoint of a name into sinks; toEnd: all that there are.
func (w *world) life(checkpointed string, n int64, sinks ...stream.Sink) error {
	q := stream.From(w.topic).Select("id").Checkpoint(checkpoint.Folder(w.place(checkpointed))).Epoch(10 * time.Millisecond)
	if n == toEnd {
		q = q.AvailableNow()
	} else {
		q = q.MaxRecords(n)
	}
	for _, s := range sinks {
		q = q.To(s)
	}
	r, err := q.Start(context.Background())
	if err != nil {
		return err
	}
	return r.Wait(context.Background())
}

const toEnd = 0

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// copied copies a checkpoint, as Savepoint and cp -r do.
func (w *world) copied(from, to string) {
	w.Helper()
	w.must(os.CopyFS(w.place(to), os.DirFS(w.place(from))))
}

func (w *world) sink(name string) stream.Sink { return w.outlet.sink(name) }

// exact wants each of the first n records once in a sink, and nothing else.
func (w *world) exact(name string, n int) {
	w.Helper()
	want := map[string]int{}
	for i := range n {
		want[fmt.Sprint(i)] = 1
	}
	if got := w.outlet.read(w.T, name); !maps.Equal(got, want) {
		o := &outcome{}
		o.compare(got, want)
		w.Errorf("%d rows lost, %d wrong, %d too often of %d", o.lost, o.odd, o.many, o.rows)
	}
}

// refusesAndGoesOn wants a query from a snapshot to be refused, which changes none of so many rows, and the one from a to end with all.
func (w *world) refusesAndGoesOn(from string, rows int) {
	w.Helper()
	w.refused(w.life(from, toEnd, w.sink("rows")))
	w.exact("rows", rows)
	w.must(w.life("a", toEnd, w.sink("rows")))
	w.exact("rows", inTopic)
}

// refused wants a start to be refused with what to do.
func (w *world) refused(err error) {
	w.Helper()
	switch {
	case err == nil:
		w.Error("it starts")
	case !strings.Contains(err.Error(), "write to another") && !strings.Contains(err.Error(), "move it away") &&
		!strings.Contains(err.Error(), "write to another place"):
		w.Errorf("it does not say what to do: %v", err)
	}
}

// fork looks at what a start from an older snapshot has done to a sink with later rows: one that can go back has all once, and another one refuses.
func (w *world) fork(err error) {
	w.Helper()
	if w.outlet.back {
		w.must(err)
		w.exact("rows", inTopic)
		return
	}
	w.refused(err)
}

// stubborn is a sink of a program's own, which knows the last epoch that it has and cannot go back.
type stubborn struct{ last int64 }

// Resume implements stream.Resumer.
func (s *stubborn) Resume(context.Context, []stream.Column, stream.Mark) (int64, error) {
	return s.last, nil
}

// Position implements stream.Resumer.
func (s *stubborn) Position() []byte { return nil }

// Write implements stream.Sink.
func (s *stubborn) Write(_ context.Context, epoch int64, _ *stream.Rows) error {
	s.last = epoch
	return nil
}

// mute is the topic while nothing of it is read.
type mute struct{ *stream.MemorySource }

// Run implements stream.Source.
func (mute) Run(ctx context.Context, _ stream.Handler) error {
	<-ctx.Done()
	return nil
}

// started starts the query and stops it before it has read anything.
func (w *world) started(checkpointed string, sink stream.Sink) error {
	r, err := stream.From(mute{w.topic}).Select("id").Checkpoint(checkpoint.Folder(w.place(checkpointed))).To(sink).Start(context.Background())
	if err != nil {
		return err
	}
	return r.Stop(context.Background())
}

// TestSavepointsOfSinks goes on from older, newer and foreign snapshots, into sinks that have rows already: each row is there once, or the
// start is refused, and a refusal leaves all as it was.
func TestSavepointsOfSinks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	cases := map[string]func(w *world){
		"stopped and gone on": func(w *world) {
			for range 3 {
				w.must(w.life("a", 100, w.sink("rows")))
			}
			w.must(w.life("a", toEnd, w.sink("rows")))
			w.exact("rows", inTopic)
		},
		"an older savepoint": func(w *world) {
			w.must(w.life("a", 100, w.sink("rows")))
			w.copied("a", "save")
			w.must(w.life("a", 100, w.sink("rows")))
			w.must(w.life("a", 70, w.sink("rows")))
			w.fork(w.life("save", toEnd, w.sink("rows")))
			w.must(w.life("a", 30, w.sink("other"))) // the checkpoint itself is none the worse
		},
		"a newer one behind it": func(w *world) {
			w.must(w.life("a", 100, w.sink("rows")))
			w.copied("a", "save")
			w.must(w.life("a", 200, w.sink("rows")))
			if err := w.life("save", 50, w.sink("rows")); err != nil {
				w.refused(err)
				w.must(w.life("a", toEnd, w.sink("rows")))
				w.exact("rows", inTopic)
				return
			}
			w.refused(w.life("a", toEnd, w.sink("rows")))
			w.must(w.life("save", toEnd, w.sink("rows")))
			w.exact("rows", inTopic)
		},
		"a newer one, behind an older one without a row": func(w *world) {
			w.must(w.life("a", 100, w.sink("rows")))
			w.copied("a", "save")
			w.must(w.life("a", 200, w.sink("rows")))
			if err := w.started("save", w.sink("rows")); err != nil {
				w.refused(err)
			}
			if err := w.life("a", toEnd, w.sink("rows")); err != nil {
				w.refused(err)
				w.must(w.life("save", toEnd, w.sink("rows")))
			}
			w.exact("rows", inTopic)
		},
		"an older copy of the checkpoint's folder": func(w *world) {
			w.must(w.life("a", 100, w.sink("rows")))
			w.copied("a", "backup")
			w.must(w.life("a", 120, w.sink("rows")))
			w.must(errors.Join(os.RemoveAll(w.place("a")), os.Rename(w.place("backup"), w.place("a"))))
			w.fork(w.life("a", toEnd, w.sink("rows")))
		},
		"a savepoint of another query": func(w *world) {
			w.must(w.life("a", 200, w.sink("rows")))
			w.must(w.life("foreign", 100, w.sink("other")))
			w.refusesAndGoesOn("foreign", 200)
		},
		"one that has gone on elsewhere": func(w *world) {
			w.must(w.life("a", 100, w.sink("rows")))
			w.copied("a", "save")
			w.must(w.life("save", 100, w.sink("other")))
			w.refusesAndGoesOn("save", 100)
		},
		"an older one that another sink refuses": func(w *world) {
			other := &stubborn{}
			w.must(w.life("a", 100, w.sink("rows"), other))
			w.copied("a", "save")
			w.must(w.life("a", 120, w.sink("rows"), other))
			w.refused(w.life("save", toEnd, w.sink("rows"), other))
			w.exact("rows", 220)
			w.must(w.life("a", toEnd, w.sink("rows"), other))
			w.exact("rows", inTopic)
		},
		"a sink that two queries share": func(w *world) {
			w.must(w.life("a", 100, w.sink("rows")))
			w.must(w.started("beside", w.sink("rows")))
			w.must(w.started("beside", w.sink("rows")))
			if !w.outlet.replaced {
				w.must(w.life("a", toEnd, w.sink("rows")))
				w.exact("rows", inTopic)
			}
		},
		"rows into a new sink": func(w *world) {
			w.must(w.life("a", 100, w.sink("rows")))
			w.must(w.life("a", toEnd, w.sink("other")))
			w.exact("rows", 100)
			got := w.outlet.read(w.T, "other")
			if len(got) != inTopic-100 || got["100"] != 1 || got["399"] != 1 {
				w.Errorf("the new sink has %d rows, want %d", len(got), inTopic-100)
			}
		},
	}
	for kind, make := range outlets(t) {
		for name, act := range cases {
			t.Run(kind+"/"+name, func(t *testing.T) { act(newWorld(t, make(t))) })
		}
	}
}

// TestTwoAtOnce starts a query from a savepoint while the first one still runs, with the same sink: one of the two is refused, or ends with
// an error, and the other one's rows are there.
func TestTwoAtOnce(t *testing.T) {
	for kind, make := range outlets(t) {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, make(t))
			w.topic = stream.Memory("ids", [][]stream.Record{nil}).Follow()
			sent := 0
			send := func(n int) {
				for ; n > 0; n-- {
					w.topic.Append(0, stream.Record{Value: fmt.Appendf(nil, `{"id":%d}`, sent)})
					sent++
				}
			}
			start := func(place string) (*stream.Running, error) {
				return stream.From(w.topic).Select("id").Checkpoint(checkpoint.Folder(w.place(place))).Epoch(10 * time.Millisecond).To(w.sink("rows")).Start(t.Context())
			}
			first, err := start("a")
			w.must(err)
			send(100)
			w.has(first, 100)
			w.must(first.Savepoint(t.Context(), checkpoint.Folder(w.place("save"))))
			send(100)
			w.has(first, 200)
			w.must(first.Savepoint(t.Context(), checkpoint.Folder(w.place("behind")))) // all 200 are given out
			second, err := start("save")
			if err != nil {
				send(50)
				w.has(first, 250)
				w.must(first.Stop(t.Context()))
				w.exact("rows", 250)
				return
			}
			ended := [2]error{}
			for ended == [2]error{} {
				send(10)
				for i, r := range []*stream.Running{first, second} {
					if !r.Active() {
						ended[i] = r.Wait(t.Context())
					}
				}
				time.Sleep(10 * time.Millisecond)
			}
			left := second
			if ended[1] != nil {
				left = first
			}
			w.has(left, int64(sent))
			w.must(left.Stop(t.Context()))
			w.exact("rows", sent)
			t.Log(ended)
		})
	}
}

// has waits until a query has read so many records.
func (w *world) has(r *stream.Running, n int64) {
	w.Helper()
	for r.Results().Len() < int(n) {
		if !r.Active() {
			w.Fatalf("it has ended with %d rows: %v", r.Results().Len(), r.Wait(w.Context()))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestSavepointsOfGroups is TestSavepointsOfSinks for a query whose partitions are units of their own: each of them goes back, or the query
// ends with what to do.
func TestSavepointsOfGroups(t *testing.T) {
	brokers := testBrokers(t)
	for kind, make := range outlets(t) {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, make(t))
			if w.outlet.replaced {
				t.Skip("one file has one writer")
			}
			topic := newName()
			sent := 0
			send := func(n int) {
				p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: topic, Partitions: 2})
				w.must(err)
				for ; n > 0; n-- {
					w.must(p.Send(t.Context(), fmt.Append(nil, sent), fmt.Appendf(nil, `{"id":%d}`, sent)))
					sent++
				}
				w.must(p.Close(t.Context()))
			}
			life := func(place, group string) error {
				r, err := stream.From(kafka.Source(kafka.Config{Brokers: brokers, Topic: topic, Group: topic + group})).Select("id").AvailableNow().
					Checkpoint(checkpoint.Folder(w.place(place))).Epoch(10 * time.Millisecond).To(w.sink("rows")).Start(t.Context())
				if err != nil {
					return err
				}
				return r.Wait(context.Background())
			}
			send(100)
			w.must(life("a", "-a"))
			w.copied("a", "save")
			send(150)
			w.must(life("a", "-a"))
			w.exact("rows", 250)
			send(50)
			if err := life("save", "-save"); !w.outlet.back {
				w.refused(err)
				w.exact("rows", 250)
				w.must(life("a", "-a"))
			} else {
				w.must(err)
				w.exact("rows", 300)
				w.refused(life("a", "-a"))
			}
			w.exact("rows", 300)
		})
	}
}
