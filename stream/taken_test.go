package stream_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/file"
)

// contended is a group in which each process believes that it has all partitions. It reads on where another one has come to.
type contended struct{ group }

func (c contended) Run(ctx context.Context, h Handler) error {
	for {
		err := c.group.Run(ctx, h)
		if behind := (*Rewind)(nil); !errors.As(err, &behind) {
			return err
		}
	}
}

// TestTwoGoOnWithOneUnit: a process that has lost its partitions to another one, and does not know it yet, goes on writing. What it and the other one do to a
// folder of epochs and to each other, killed at any time, neither refuses a start nor costs a row.
func TestTwoGoOnWithOneUnit(t *testing.T) {
	var shops [][]Record
	for p := range int64(2) {
		var all []Record
		for i := range 20000 {
			all = append(all, event(p+2*int64(i%5), 1, float64(i)/4))
		}
		shops = append(shops, all)
	}
	query := func(rows, snapshots string) *Query {
		source := contended{group{Memory("shops", shops).BatchSize(7)}}
		return counting(source).To(file.JSONLinesEpochs(rows)).Checkpoint(checkpoint.Folder(snapshots)).Epoch(10 * time.Millisecond)
	}
	calm, rows, snapshots := t.TempDir(), t.TempDir(), t.TempDir()
	lives(t, query(calm, t.TempDir()), 0, nil)
	for range 12 {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // each begins somewhere in the other's life
				lives(t, query(rows, snapshots), time.Duration(rand.IntN(60)+1)*time.Millisecond, killed)
			})
		}
		both.Wait()
	}
	lives(t, query(rows, snapshots), 0, nil)
	if got, want := linesOf(t, rows), linesOf(t, calm); !slices.Equal(got, want) {
		t.Errorf("got %d rows, want %d:\n%s\nwant:\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// linesOf reads the rows of a folder of epochs, in the order of their texts.
func linesOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	slices.Sort(lines)
	return lines
}
