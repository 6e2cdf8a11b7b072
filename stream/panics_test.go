package stream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// bomb panics in the method that it names, and does what is wanted otherwise.
type bomb struct{ in string }

func (b *bomb) at(method string) {
	if b.in == method {
		panic("boom")
	}
}

// counter counts the records of a partition, under one key.
type counter struct {
	*bomb
	n     byte
	asked int
	fresh bool
}

func (c *counter) Record(_ context.Context, r *Record) (time.Time, string) {
	c.n, c.fresh = c.n+1, true
	return time.Unix(r.Offset, 0), ""
}

func (c *counter) Flush(_ context.Context, emit func(at time.Time, row ...Value) error) error {
	return emit(time.Unix(int64(c.n), 0), IntOf(int64(c.n)))
}

func (c *counter) Changes(changed, _ func(key string)) {
	if c.asked++; c.asked == 1 {
		c.at("first Changes")
	} else {
		c.at("Changes")
	}
	if c.fresh {
		changed("all")
		c.fresh = false
	}
}

func (c *counter) Save(dst []byte, _ string) []byte { c.at("Save"); return append(dst, c.n) }

func (c *counter) Load(_ string, saved []byte) error { c.at("Load"); c.n = saved[0]; return nil }

// ownPlace and ownSink are a checkpoint's place and a sink of a program's own.
type ownPlace struct {
	checkpoint.Place
	*bomb
	writes int
}

func (p *ownPlace) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	if p.writes++; p.writes > 1 { // the first is Start's
		p.at("Write")
	}
	return p.Place.Write(ctx, unit, epoch, pieces)
}

type ownSink struct {
	*exactly
	*bomb
	writes int
}

func (s *ownSink) Write(ctx context.Context, epoch int64, rows *Rows) error {
	s.writes++
	return s.exactly.Write(ctx, epoch, rows)
}

func (s *ownSink) Position() []byte {
	if s.writes > 0 { // else it is Start that asks
		s.at("Position")
	}
	return nil
}

// TestKeeperPanics: a panic of what a snapshot is made with, of a handler, a place or a sink, is an error of the query that names it, and the program lives.
func TestKeeperPanics(t *testing.T) {
	for in, want := range map[string]string{
		"first Changes": "process counter: Changes: panic: boom",
		"Changes":       "process counter: Changes: panic: boom",
		"Save":          "process counter: Save: panic: boom",
		"Load":          "process counter: Load: panic: boom",
		"Write":         "a fault inside it: panic: boom",
		"Position":      "to exactly: panic: boom",
	} {
		t.Run(in, func(t *testing.T) {
			dir, rows := t.TempDir(), &exactly{}
			life := func(b *bomb) error {
				place := &ownPlace{Place: checkpoint.Folder(dir), bomb: b}
				r, err := From(Memory("shops", [][]Record{events(1, 0, 6)})).
					ProcessRecords(RecordProcessing{Name: "counter", Columns: []Column{{Name: "n", Kind: Int}}, New: func() RecordHandler { return &counter{bomb: b} }}).
					To(&ownSink{exactly: rows, bomb: b}).Checkpoint(place).MaxRecords(3).Start(t.Context())
				if err != nil {
					return err
				}
				return r.Wait(t.Context())
			}
			if in == "Load" {
				if err := life(&bomb{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := life(&bomb{in}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
			if err := life(&bomb{}); err != nil {
				t.Errorf("a program without the fault, from there: %v", err)
			}
		})
	}
}
