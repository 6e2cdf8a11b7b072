package stream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// closing is a sink that counts how often it is closed, and may refuse to be opened.
type closing struct {
	exactly
	refuses error
	closed  int
}

func (s *closing) Resume(ctx context.Context, columns []Column, mark Mark) (int64, error) {
	epoch, err := s.exactly.Resume(ctx, columns, mark)
	return epoch, errors.Join(err, s.refuses)
}

func (s *closing) Close() error { s.closed++; return nil }

// TestClosedOnce: where a sink cannot be opened, the others are closed once, and it is not: it may serve another query.
func TestClosedOnce(t *testing.T) {
	refused := errors.New("refused")
	first, second := &closing{}, &closing{refuses: refused}
	_, err := counting(Memory("shops", [][]Record{events(1, 0, 6)})).To(first).To(second).Checkpoint(checkpoint.Folder(t.TempDir())).Start(t.Context())
	if !errors.Is(err, refused) || first.closed != 1 || second.closed != 0 {
		t.Errorf("got %v, closed %d and %d times, want once and never", err, first.closed, second.closed)
	}
}

// TestSinkAsks: what a sink may ask its query for, as the doc comment of Running says.
func TestSinkAsks(t *testing.T) {
	for name, with := range map[string]func(q *Query) *Query{
		"with a checkpoint": func(q *Query) *Query { return q.Checkpoint(checkpoint.Folder(t.TempDir())) },
		"without":           func(q *Query) *Query { return q },
	} {
		t.Run(name, func(t *testing.T) {
			started, asked := make(chan *Running, 1), false
			sink := SinkFunc(func(int64, *Rows) error {
				r := <-started
				started <- r
				if asked = r.Totals().Records > 0 && r.String() != ""; name == "with a checkpoint" {
					asked = asked && r.Results().Total > 0
				}
				return nil
			})
			r := start(t, with(counting(Memory("shops", [][]Record{events(1, 0, 90)})).To(sink)))
			started <- r
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := r.Wait(ctx); err != nil || !asked {
				t.Errorf("got %v, asked %v", err, asked)
			}
		})
	}
}
