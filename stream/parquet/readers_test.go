package parquet

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cancha/stream"
)

// TestReaders has pyarrow and DuckDB read what was written: scripts/parquet.py says what they must find.
func TestReaders(t *testing.T) {
	python := os.Getenv("CANCHA_PARQUET_PYTHON")
	if python == "" {
		t.Skip("CANCHA_PARQUET_PYTHON is not set: scripts/parquet.sh runs this test with a Python that has pyarrow and duckdb")
	}
	dir := t.TempDir()
	writeTo(t, Sink(filepath.Join(dir, "kinds.parquet")), sample())
	writeTo(t, Sink(filepath.Join(dir, "micros.parquet")).Microseconds(), sample())
	writeTo(t, Sink(filepath.Join(dir, "none.parquet")), stream.NewRows(columns()...))
	writeTo(t, Sink(filepath.Join(dir, "many.parquet")), numbered(300_000))
	s := Folder(filepath.Join(dir, "folder")).Rows(1000)
	if err := s.Open(t.Context(), numbered(0).Columns); err != nil {
		t.Fatal(err)
	}
	for epoch := range 10 {
		if err := s.Write(t.Context(), int64(epoch), numbered(400)); err != nil {
			t.Fatal(err)
		}
	}
	// The last file is not whole yet: readers of the folder must not see it.
	check := exec.Command(python, "../../scripts/parquet.py", dir)
	text, err := check.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	t.Logf("%s", text)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func writeTo(t *testing.T, s *Writer, rows *stream.Rows) {
	t.Helper()
	if err := errors.Join(s.Open(t.Context(), rows.Columns), s.Write(t.Context(), 1, rows), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// numbered are rows whose values follow from their number.
func numbered(n int) *stream.Rows {
	rows := stream.NewRows([]stream.Column{{Name: "i", Kind: stream.Int}, {Name: "root", Kind: stream.Float}, {Name: "text", Kind: stream.Text}}...)
	for i := range n {
		text := stream.TextOf(fmt.Sprint("key ", i%1000))
		if i%3 == 0 {
			text = stream.TextOf(strings.Repeat("é", i%100))
		}
		if i%7 == 0 {
			text = stream.Value{}
		}
		rows.Append(stream.IntOf(int64(i)), stream.FloatOf(math.Sqrt(float64(i))), text)
	}
	return rows
}
