package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/file"
	"cancha/stream/kafka"
	"cancha/stream/postgres"
)

// role is what a process of a trial does: a query that reads topics to their ends, with a checkpoint, into a sink. Or it is the broker.
type role struct {
	Query    string // windows, seconds, join, firsts, sessions, latejoin, predictions, anew, broker
	Sink     string // file, epochs, kafka, postgres
	Brokers  []string
	Topics   []string
	Group    string
	Folder   string // of the checkpoint, and of files
	Output   string // topic or table
	Postgres string // URL
	Epoch    time.Duration
	Live     bool   // it reads what comes, and does not end
	Instance string // its name in the group

	// Faults from inside; zero: none.
	Slow  time.Duration // that a disk takes at most
	Limit uint64        // bytes of the largest file
	Clock uint64        // the seed of a clock that jumps
	Back  bool          // it stays behind the true time
}

// run is the process: it ends with the topics.
func (r role) run(ctx context.Context) error {
	if r.Query == "broker" {
		return r.serve(ctx)
	}
	end, err := r.within(ctx)
	if err != nil {
		return err
	}
	defer end()
	q, err := r.query()
	if err != nil {
		return err
	}
	sink, err := r.sink()
	if err != nil {
		return err
	}
	place := checkpoint.Folder(r.snapshots())
	if r.Slow > 0 {
		place, sink = slowPlace{place, slow{r.Slow}}, slowSink{sink.(resumable), slow{r.Slow}}
	}
	running, err := q.To(sink).Checkpoint(place).Epoch(r.Epoch).KeepRows(1).Start(ctx)
	if err != nil {
		return err
	}
	return running.Wait(ctx)
}

func (r role) snapshots() string { return filepath.Join(r.Folder, "snapshots") }

func (r role) source(i int) stream.Source {
	end := make(chan struct{})
	if !r.Live {
		close(end)
	}
	cfg := kafka.Config{Brokers: r.Brokers, Topic: r.Topics[i], Group: r.Group, Instance: r.Instance, Until: end}
	if r.Query == "anew" {
		cfg.Recreated = kafka.ReadRecreated
	}
	return kafka.Source(cfg)
}

func (r role) query() (*stream.Query, error) {
	switch r.Query {
	case "windows":
		return moves(r.source(0)).KeyedBy("k").Watermark(5*time.Second).GroupBy("k").Window(stream.Sliding(20*time.Second, 10*time.Second)).
			Agg(stream.Count("n"), stream.Stats("x", stream.Field("x")), stream.CountDistinct("ids", stream.Field("id")),
				stream.First("first", stream.Field("id"))), nil
	case "seconds":
		return moves(r.source(0)).KeyedBy("k").Watermark(200*time.Millisecond).GroupBy("k").Window(stream.Tumbling(time.Second)).
			Agg(stream.Count("n"), stream.Stats("x", stream.Field("x")), stream.First("first", stream.Field("id"))), nil
	case "join":
		left := moves(r.source(0)).Watermark(15*time.Second).Select("k", "id", "x")
		right := moves(r.source(1)).Watermark(15*time.Second).With("other", stream.Field("id")).Select("k", "other")
		return left.Join(right, stream.Same("k"), stream.Within{Before: 300 * time.Millisecond, After: 300 * time.Millisecond}), nil
	case "anew":
		return stream.From(r.source(0)).Select("round", "part", "id"), nil
	case "firsts": // hundreds of thousands of records are late: which, the order of a partition's records alone may decide
		return moves(r.source(0)).Watermark(2*time.Second).Deduplicate("k").Select("k", "id", "ts"), nil
	case "sessions":
		return moves(r.source(0)).Watermark(time.Second).GroupBy("k").Window(stream.Session(1500*time.Millisecond)).
			Agg(stream.Count("n"), stream.Sum("ids", stream.Field("id"))), nil
	case "latejoin":
		left := moves(r.source(0)).Watermark(time.Second).Select("k", "id", "x")
		right := moves(r.source(1)).Watermark(time.Second).With("other", stream.Field("id")).Select("k", "other")
		return left.LeftJoin(right, stream.Same("k"), stream.Within{Before: 300 * time.Millisecond, After: 300 * time.Millisecond}), nil
	case "predictions":
		board, err := streaming.NewBoard(&odds{map[int64]uint64{}}, 1000)
		if err != nil {
			return nil, err
		}
		return streaming.Score(r.source(0), board), nil
	}
	return nil, fmt.Errorf("there is no query %q", r.Query)
}

func moves(source stream.Source) *stream.Query {
	return stream.From(source).EventTime(stream.Field("ts").UnixMillis())
}

func (r role) sink() (stream.Sink, error) {
	switch r.Sink {
	case "file":
		return file.JSONLines(filepath.Join(r.Folder, "rows.jsonl")), nil
	case "epochs":
		return file.JSONLinesEpochs(filepath.Join(r.Folder, "rows")), nil
	case "kafka":
		return kafka.Sink(kafka.SinkConfig{Brokers: r.Brokers, Topic: r.Output}), nil
	case "postgres":
		return postgres.Sink(postgres.Config{URL: r.Postgres, Table: r.Output, Create: true}), nil
	}
	return nil, fmt.Errorf("there is no sink %q", r.Sink)
}

// odds is a model whose answers depend on all events of a match so far and on their order.
type odds struct{ matches map[int64]uint64 }

func (m *odds) Classes() []string { return []string{"home", "draw", "away"} }

func (m *odds) Score(_ context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error {
	for i := range events {
		e := &events[i].Event
		n := m.matches[e.MatchID]*31 + uint64(e.Index) + uint64(e.Team.ID)
		m.matches[e.MatchID] = n
		p := float64(n%1000) / 2000
		copy(probabilities[i], []float64{p, 0.25, 0.75 - p})
	}
	return nil
}

func (m *odds) SaveMatch(dst []byte, id int64) []byte {
	if n, known := m.matches[id]; known {
		return binary.BigEndian.AppendUint64(dst, n)
	}
	return dst
}

func (m *odds) LoadMatch(id int64, saved []byte) error {
	if len(saved) != 8 {
		return errors.New("no state of a match")
	}
	m.matches[id] = binary.BigEndian.Uint64(saved)
	return nil
}

func (m *odds) DropMatch(id int64) { delete(m.matches, id) }

// roleOf reads a role from the environment, where the process that tries it has put it.
func roleOf() (r role, is bool, err error) {
	text, is := os.LookupEnv(roleVariable)
	if is {
		err = json.Unmarshal([]byte(text), &r)
	}
	return r, is, err
}

// roleVariable makes a process one of a trial.
const roleVariable = "CANCHA_CHAOS_ROLE"
