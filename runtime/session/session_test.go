package session

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/internal/cellio"
)

func TestContext(t *testing.T) {
	run := cellio.NewRun(1)
	var ctx context.Context
	run.Do(func() { ctx = Context() })
	if ctx.Err() != nil {
		t.Fatalf("ended before the interrupt: %v", ctx.Err())
	}
	if run.Interrupt() {
		t.Error("somebody handled the interrupt")
	}
	if got := context.Cause(ctx); !errors.Is(got, cellio.ErrInterrupted) {
		t.Errorf("cause: got %v, want %v", got, cellio.ErrInterrupted)
	}
}

func TestNotifyInterrupt(t *testing.T) {
	run := cellio.NewRun(2)
	run.Do(func() {
		ctx, stop := NotifyInterrupt(context.Background())
		defer stop()
		if !run.Interrupt() {
			t.Error("the interrupt was not handled")
		}
		if ctx.Err() == nil || Context().Err() != nil {
			t.Errorf("own context: %v, the cell's: %v; want the first ended only", ctx.Err(), Context().Err())
		}
	})
}

func TestExport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "metrics.json")
	for _, v := range []any{map[string]int{"rows": 1}, struct {
		Rows int `json:"rows"`
	}{2}} {
		if err := Export(path, v); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if want := "{\n  \"rows\": 2\n}\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := Export(path, math.NaN()); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("NaN: got %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(got) {
		t.Errorf("a failed export changed the file to %q", after)
	}
	if err := Export(filepath.Join(path, "below.json"), 1); err == nil {
		t.Error("a file was taken for a folder")
	}
	if err := Export(filepath.Dir(path), 1); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if files, _ := os.ReadDir(filepath.Dir(filepath.Dir(path))); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestOut(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	path, err := Out(folder, "windows.csv")
	if err != nil || path != filepath.Join(folder, "windows.csv") {
		t.Errorf("got %s, %v", path, err)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		t.Errorf("no folder: %v", err)
	}
	if path, err := Out("", "x.csv"); err != nil || path != "x.csv" {
		t.Errorf("current folder: got %s, %v", path, err)
	}
}
