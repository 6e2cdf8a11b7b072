package parquet

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// row has each kind of column that is read, some of them below optional groups.
type row struct {
	ID   int32     `parquet:"id"`
	Name string    `parquet:"name,plain"`
	Kind string    `parquet:"kind,dict"`
	In   *inner    `parquet:"in,optional"`
	List []float64 `parquet:"list,list"`
}

type inner struct {
	X      float64   `parquet:"x"`
	Plain  []float64 `parquet:"plain"`
	Coded  float64   `parquet:"coded,dict"`
	Listed []float64 `parquet:"listed,list,optional"`
}

// rowsOf returns rows whose lists have all lengths up to 4.
func rowsOf(n int) (all []row) {
	for i := range n {
		list := make([]float64, i%5)
		for k := range list {
			list[k] = float64(i) + float64(k)/8
		}
		all = append(all, row{int32(i * 7), fmt.Sprintf("row %d", i), fmt.Sprint(i % 11), &inner{math.Sqrt(float64(i)), list, float64(i % 3), list}, list})
	}
	return all
}

// written returns the bytes of a file.
func written(t testing.TB, rows []row, options ...pq.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[row](&b, options...)
	for at := 0; at < len(rows); at += 100 {
		if _, err := w.Write(rows[at:min(at+100, len(rows))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll reads every column.
func readAll(data []byte) (rows []row, err error) {
	f, err := Open(data)
	if err != nil {
		return nil, err
	}
	rows = make([]row, f.Rows())
	for i := range rows {
		rows[i].In = &inner{}
	}
	into := func(of func(*row) *[]float64) func(int, []float64) error {
		return func(i int, list []float64) error {
			*of(&rows[i]) = append([]float64{}, list...)
			return nil
		}
	}
	for _, read := range []func() error{
		func() error { return f.Int32("id", func(i int, v int32) { rows[i].ID = v }) },
		func() error { return f.Text("name", func(i int, v []byte) { rows[i].Name = string(v) }) },
		func() error { return f.Text("kind", func(i int, v []byte) { rows[i].Kind = string(v) }) },
		func() error { return f.Float64("in.x", func(i int, v float64) { rows[i].In.X = v }) },
		func() error { return f.Float64("in.coded", func(i int, v float64) { rows[i].In.Coded = v }) },
		func() error { return f.List("in.plain", 4, into(func(r *row) *[]float64 { return &r.In.Plain })) },
		func() error { return f.List("in.listed", 4, into(func(r *row) *[]float64 { return &r.In.Listed })) },
		func() error { return f.List("list", 4, into(func(r *row) *[]float64 { return &r.List })) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// check compares rows.
func check(t *testing.T, name string, got, want []row) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d rows, want %d", name, len(got), len(want))
		return
	}
	for i, w := range want {
		g := got[i]
		if g.ID != w.ID || g.Name != w.Name || g.Kind != w.Kind || g.In.X != w.In.X || g.In.Coded != w.In.Coded ||
			!slices.Equal(g.List, w.List) || !slices.Equal(g.In.Plain, w.In.Plain) || !slices.Equal(g.In.Listed, w.In.Listed) {
			t.Errorf("%s: row %d: got %+v %+v, want %+v %+v", name, i, g, g.In, w, w.In)
			return
		}
	}
}

// TestRead: what parquet-go writes in many forms is read as it was.
func TestRead(t *testing.T) {
	rows := rowsOf(2500)
	for name, options := range map[string][]pq.WriterOption{
		"plain":        nil,
		"snappy":       {pq.Compression(&pq.Snappy)},
		"gzip":         {pq.Compression(&pq.Gzip)},
		"zstd":         {pq.Compression(&pq.Zstd)},
		"version 1":    {pq.DataPageVersion(1), pq.Compression(&pq.Snappy)},
		"version 2":    {pq.DataPageVersion(2), pq.Compression(&pq.Zstd)},
		"small pages":  {pq.PageBufferSize(100), pq.DataPageVersion(1)},
		"small pages2": {pq.PageBufferSize(100), pq.DataPageVersion(2), pq.Compression(&pq.Gzip)},
		"groups":       {pq.MaxRowsPerRowGroup(301)},
	} {
		got, err := readAll(written(t, rows, options...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check(t, name, got, rows)
	}
	for _, n := range []int{0, 1} {
		got, err := readAll(written(t, rowsOf(n)))
		if err != nil {
			t.Errorf("%d rows: %v", n, err)
			continue
		}
		check(t, fmt.Sprint(n, " rows"), got, rowsOf(n))
	}
}

// TestRefuses: what is not read is named.
func TestRefuses(t *testing.T) {
	type other struct {
		ID    int32      `parquet:"id,delta"`
		X     float64    `parquet:"x,split"`
		Maybe *float64   `parquet:"maybe,optional"`
		Holes []*float64 `parquet:"holes,list"`
	}
	one := 1.0
	of := func(options ...pq.WriterOption) []byte {
		var b bytes.Buffer
		w := pq.NewGenericWriter[other](&b, options...)
		if _, err := w.Write([]other{{1, 2, &one, []*float64{&one, &one}}, {2, 3, nil, []*float64{&one, nil}}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	none := func(int, float64) {}
	check := func(data []byte, want string, read func(*File) error) {
		t.Helper()
		f, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check(of(pq.Compression(&pq.Lz4Raw)), "packed by LZ4_RAW", func(f *File) error { return f.Float64("x", none) })
	plainer := of()
	lists := func(most int) func(f *File) error {
		return func(f *File) error { return f.List("holes", most, func(int, []float64) error { return nil }) }
	}
	check(plainer, "encoded by DELTA_BINARY_PACKED", func(f *File) error { return f.Int32("id", func(int, int32) {}) })
	check(plainer, "encoded by BYTE_STREAM_SPLIT", func(f *File) error { return f.Float64("x", none) })
	check(plainer, "row 1 has no value", func(f *File) error { return f.Float64("maybe", none) })
	check(plainer, "a number of its list is null", lists(2))
	check(plainer, "more than 1 numbers", lists(1))
	check(plainer, "no column y", func(f *File) error { return f.Float64("y", none) })
	check(plainer, "column id is of another type", func(f *File) error { return f.Float64("id", none) })
	check(plainer, "holes.list.element is of another type", func(f *File) error { return f.Int32("holes.list.element", func(int, int32) {}) })
}

// TestDamaged: a file that is cut short is an error, and one with a byte changed an error or other rows; neither takes much memory.
func TestDamaged(t *testing.T) {
	for _, codec := range []compress.Codec{&pq.Snappy, &pq.Gzip, &pq.Zstd} {
		data := written(t, rowsOf(20), pq.Compression(codec), pq.PageBufferSize(300))
		for n := 0; n < len(data); n += 1 + len(data)/100 {
			if _, err := readAll(data[:n:n]); err == nil {
				t.Fatalf("%v: %d bytes of %d are read", codec, n, len(data))
			}
		}
		for i := 0; i < len(data); i += 1 + len(data)/300 {
			changed := slices.Clone(data)
			changed[i] ^= byte(1 + i%255)
			if got := allocated(func() { readAll(changed) }); got > 2*mostPage {
				t.Fatalf("%v: byte %d changed: %d bytes allocated for %d", codec, i, got, len(data))
			}
		}
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzRead(f *testing.F) {
	for _, options := range [][]pq.WriterOption{nil, {pq.Compression(&pq.Snappy), pq.DataPageVersion(1)}, {pq.Compression(&pq.Gzip)}, {pq.Compression(&pq.Zstd)}} {
		f.Add(written(f, rowsOf(30), options...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := readAll(data); err != nil && err.Error() == "" {
			t.Error("an error that says nothing")
		}
	})
}
