package file_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/file"
)

// TestAvailableNow: all that the files hold is read, however many batches that takes, followed or not; and a table of it is whole before it is used.
func TestAvailableNow(t *testing.T) {
	const lines = 20_000
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "{\"id\":%d}\n", i)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ids.jsonl"), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rows := func(q *stream.Query) int {
		running, err := q.AvailableNow().Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := running.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		return running.Results().Len()
	}
	for name, source := range map[string]stream.Source{"read": file.Source(folder), "followed": file.Source(folder).Follow()} {
		if got := rows(stream.From(source).Select("id")); got != lines {
			t.Errorf("%s: got %d rows, want %d", name, got, lines)
		}
		last := stream.Memory("t", [][]stream.Record{{{Value: fmt.Appendf(nil, `{"id":%d}`, lines-1)}}})
		ids := stream.Latest("ids", stream.From(source).Select("id"), "id")
		if got := rows(stream.From(last).Select("id").Lookup(ids, stream.Same("id"))); got != 1 {
			t.Errorf("a table of files that are %s: got %d rows, want 1", name, got)
		}
	}
}
