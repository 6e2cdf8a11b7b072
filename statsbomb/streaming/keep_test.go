package streaming_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/checkpoint"
)

// remembering is a model whose answers depend on all events of a match so far, and nothing else.
type remembering struct{ matches map[int64]uint64 }

func (m *remembering) Classes() []string { return []string{"home", "draw", "away"} }

func (m *remembering) Score(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error {
	for i := range events {
		e := &events[i].Event
		n := m.matches[e.MatchID]*31 + uint64(e.Index) + uint64(e.Team.ID)
		m.matches[e.MatchID] = n
		p := float64(n%1000) / 2000
		copy(probabilities[i], []float64{p, 0.25, 0.75 - p})
	}
	return nil
}

func (m *remembering) SaveMatch(dst []byte, id int64) []byte {
	if n, known := m.matches[id]; known {
		return binary.BigEndian.AppendUint64(dst, n)
	}
	return dst
}

func (m *remembering) LoadMatch(id int64, saved []byte) error {
	m.matches[id] = binary.BigEndian.Uint64(saved)
	return nil
}

func (m *remembering) DropMatch(id int64) { delete(m.matches, id) }

var errKilled = errors.New("killed")

// TestScoringKilled ends a scoring again and again as kill -9 would, each time with a new model and a new board: the predictions are those of a scoring
// without a break.
func TestScoringKilled(t *testing.T) {
	all := partitioned(season(11, 12, 700), 3)
	score := func(dir string, life time.Duration) string {
		board, err := streaming.NewBoard(&remembering{map[int64]uint64{}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, kill := context.WithCancelCause(t.Context())
		defer kill(nil)
		q := streaming.Score(stream.Memory("matches", all).BatchSize(29), board).Checkpoint(checkpoint.Folder(dir)).Epoch(10 * time.Millisecond)
		running, err := q.Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if life > 0 {
			defer time.AfterFunc(life, func() { kill(errKilled) }).Stop()
		}
		if err := running.Wait(context.Background()); errors.Is(err, errKilled) {
			return ""
		} else if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := errors.Join(board.Predictions().WriteCSV(&text), board.Latest().WriteCSV(&text)); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	want := score(t.TempDir(), 0)
	dice := rand.New(rand.NewPCG(1, 7))
	for range 3 {
		dir, got := t.TempDir(), ""
		for ends := 0; got == ""; ends++ {
			life := time.Duration(dice.IntN(30)+1) * time.Millisecond
			if ends > 6 {
				life = 0
			}
			got = score(dir, life)
		}
		if got != want {
			t.Errorf("%d lines after the kills, want %d, or other ones", strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
	}
}

// TestScoringWithoutKeeper: a model that cannot save what it knows of a match is refused, not forgotten.
func TestScoringWithoutKeeper(t *testing.T) {
	board, err := streaming.NewBoard(free{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = streaming.Score(stream.Memory("matches", nil), board).Checkpoint(checkpoint.Folder(t.TempDir())).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), `the process "score" keeps a state that it cannot save`) {
		t.Errorf("got %v, want that the model's state cannot be saved", err)
	}
}
