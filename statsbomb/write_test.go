package statsbomb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cancha/statsbomb"
)

// memory is an archive of two matches, one of them without events.
type memory struct{}

func (memory) Source() string { return statsbomb.SourceSimulator }

func (memory) Matches() []statsbomb.Match {
	base := statsbomb.Match{Competition: statsbomb.Ref{ID: 7, Name: "L"}, Season: statsbomb.Ref{ID: 1, Name: "2020"},
		Home: statsbomb.Ref{ID: 1, Name: "Alba"}, Away: statsbomb.Ref{ID: 2, Name: "Béla"}}
	with, without := base, base
	with.ID, with.Date, with.HomeScore = 42, "2020-01-01", 1
	without.ID, without.Date, without.Season, without.NoScore = 43, "2021-01-01", statsbomb.Ref{ID: 2, Name: "2021"}, true
	return []statsbomb.Match{with, without}
}

func (memory) Events(id int64) ([]statsbomb.Event, error) {
	if id != 42 {
		return nil, statsbomb.ErrNoEvents
	}
	return []statsbomb.Event{shotEvent()}, nil
}

func TestWriteFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var steps []int
	if err := statsbomb.WriteFolder(t.Context(), dir, memory{}, func(done, total int) { steps = append(steps, done, total) }); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 2, 2}; !reflect.DeepEqual(steps, want) {
		t.Errorf("progress %v, want %v", steps, want)
	}
	f, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Matches(), (memory{}).Matches(); !reflect.DeepEqual(got, want) {
		t.Errorf("matches %+v\nwant    %+v", got, want)
	}
	if f.Source() != statsbomb.SourceSimulator || len(f.Competitions()) != 2 {
		t.Errorf("source %q, competitions %v", f.Source(), f.Competitions())
	}
	events, err := f.Events(42)
	if err != nil {
		t.Fatal(err)
	}
	if want := []statsbomb.Event{shotEvent()}; !reflect.DeepEqual(events, want) {
		t.Errorf("events %+v\nwant   %+v", events, want)
	}
	if _, err := f.Events(43); !errors.Is(err, statsbomb.ErrNoEvents) {
		t.Errorf("events of match 43: %v, want ErrNoEvents", err)
	}
	if err := statsbomb.WriteFolder(t.Context(), dir, memory{}, nil); err == nil {
		t.Error("a folder with matches was written over")
	}
}

func TestWriteFolderStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	dir := t.TempDir()
	err := statsbomb.WriteFolder(ctx, dir, memory{}, func(done, total int) { stop() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v, want context.Canceled", err)
	}
	if _, err := statsbomb.OpenFolder(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder written in part opens: %v", err)
	}
	if err := statsbomb.WriteFolder(t.Context(), dir, memory{}, nil); err != nil {
		t.Errorf("written again: %v", err)
	}
}
