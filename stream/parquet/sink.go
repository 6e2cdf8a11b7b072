package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"cancha/stream"
	"cancha/stream/internal/files"
)

// When a file of a folder is complete, unless Rows and Every say otherwise.
const (
	DefaultRows  = 1_000_000
	DefaultEvery = time.Minute
)

// Writer writes rows into Parquet files. It implements stream.Sink, stream.Opener, stream.Closer and, of a Folder, stream.Reverter, and serves one query
// at a time. Settings come before the query starts.
//
// Integers become INT64, numbers DOUBLE, truths BOOLEAN, texts STRING, JSON texts of the logical type JSON, and times TIMESTAMP in UTC with
// nanoseconds, as a stream.Time has them, so that nothing is rounded: pyarrow reads timestamp[ns, tz=UTC], DuckDB 2.0 TIMESTAMPTZ_NS. For readers
// that know no nanoseconds there is Microseconds. All columns may be null: an absent value is.
//
// A column of kind Any, such as a path of GroupBy, becomes a column of texts, in which other values stand as in CSV, because a schema cannot wait
// for the values; As says what it is instead. Bytes of a text that are not UTF-8 become U+FFFD. A value that does not fit its column, such as 1.5
// among integers, ends the query with an error, and of its Write no row is written.
//
// Files are compressed with Zstandard. In memory is one group of rows: 122,880, or fewer whose values take 64 MiB.
type Writer struct {
	path   string
	folder bool
	rows   int
	every  time.Duration
	as     map[string]stream.Kind
	unit   pq.TimeUnit // of times
	wrong  error       // of a setting

	through func(io.Writer) io.Writer // tests fail through it

	wait sync.WaitGroup // for timers

	mu      sync.Mutex // held by the query's calls, and by a timer
	open    bool
	release func() // gives the file back to other sinks
	given   []stream.Column
	columns []column
	epochs  *files.Epochs // of a query with a checkpoint; nil: it has none
	started time.Time
	parts   int // files begun
	part    *part
	timer   *time.Timer // of part, once it has rows
	err     error       // that has ended the writing
	told    bool        // err was returned
}

// Sink returns a sink that writes one file. It is there, in place of an older one of that name, when the query has ended, be it by an error or a
// Stop: then it has the rows of all Writes that returned. Before that, and after a failed Write on a full disk, whatever had the name still has it.
// A query without rows leaves a file without rows. A process that is killed leaves no file, only a temporary one beside the path (.NAME….partial),
// which nobody can read. Every query that ends may use it; one that goes on for ever wants a Folder, and so does one with a Checkpoint, which is refused
// here: a file that is whole cannot take the rows of the next run.
func Sink(path string) *Writer { return &Writer{path: path, unit: pq.Nanosecond} }

// Folder returns a sink that writes a folder of files, which is made unless it exists: rows-TIME-NUMBER.parquet, with the time of the query's start,
// so that runs share a folder and none replaces a file of another. A file gets its name once it is whole and on the disk, and does not change
// any more: a reader of *.parquet sees whole files and whole Writes alone. It is complete with the Write that brings it to 1,000,000 rows (see
// Rows), a minute after its first row (see Every), or when the query ends.
//
// In a query with a Checkpoint each row is there exactly once: each epoch is a file, whose name tells the query, the part of it, the epoch and the run. A query
// that goes on from an older snapshot takes off what is later, as file.Epochs does. Rows and Every then say nothing; the query's Epoch does, and with Epoch(time.Minute) files are fewer and larger than with the second that is its default.
//
// Without a checkpoint a process that is killed loses the rows of the file that was being written, that is, of at most the last Every. Run again from
// before these rows, the query writes them, and others perhaps a second time: files have no keys by which to know them. In both cases its temporary file
// (.….partial) is ignored by readers and can be deleted.
func Folder(dir string) *Writer {
	return &Writer{path: dir, folder: true, rows: DefaultRows, every: DefaultEvery, unit: pq.Nanosecond}
}

// Rows sets how many rows make a file of a Folder complete, in a query without a Checkpoint. A Write is never parted, so a file may have more.
func (w *Writer) Rows(n int) *Writer {
	if w.rows = n; !w.folder || n < 1 {
		w.wrong = errors.Join(w.wrong, fmt.Errorf("Rows(%d): want 1 or more, of a Folder", n))
	}
	return w
}

// Every sets how long after its first row a file of a Folder is complete, in a query without a Checkpoint.
func (w *Writer) Every(d time.Duration) *Writer {
	if w.every = d; !w.folder || d < time.Millisecond {
		w.wrong = errors.Join(w.wrong, fmt.Errorf("Every(%v): want 1 ms or more, of a Folder", d))
	}
	return w
}

// As says what the values of a column are whose kind the query does not know: As("shop", stream.Int). In a column of kind JSON all values
// stand as JSON.
func (w *Writer) As(column string, kind stream.Kind) *Writer {
	if w.as == nil {
		w.as = map[string]stream.Kind{}
	}
	w.as[column] = kind
	return w
}

// Microseconds writes times with microseconds, rounded down.
func (w *Writer) Microseconds() *Writer {
	w.unit = pq.Microsecond
	return w
}

// String tells where the rows go, as Explain shows it.
func (w *Writer) String() string {
	if w.folder {
		return "parquet folder " + w.path
	}
	return "parquet " + w.path
}

// Place implements stream.Placed.
func (w *Writer) Place() string { return files.Place(w.path) }

// Files returns patterns (see [filepath.Match]) of the paths of all files that a Folder makes, which file.Source asks for (see stream.Hearer). A Sink has a Place.
func (w *Writer) Files() []string {
	if !w.folder {
		return nil
	}
	return []string{w.files().Pattern(), filepath.Join(w.path, "rows-*-*.parquet")}
}

// Open implements stream.Opener: it checks the columns and whether a file can be made.
func (w *Writer) Open(_ context.Context, columns []stream.Column) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.named(w.begin(columns))
}

// named says of an error what could not be written.
func (w *Writer) named(err error) error {
	if err != nil {
		err = fmt.Errorf("write %s: %w", w.path, err)
	}
	return err
}

// take makes the sink one query's, and looks at its columns.
func (w *Writer) take(columns []stream.Column) error {
	if w.path == "" {
		return errors.New("no path")
	}
	if w.open {
		return files.ErrServes
	}
	if w.wrong != nil {
		return w.wrong
	}
	is, err := columnsOf(columns, w.as, w.unit)
	if err != nil {
		return err
	}
	w.given, w.columns, w.started, w.parts, w.err, w.told = slices.Clone(columns), is, time.Now().UTC(), 0, nil, false
	return nil
}

func (w *Writer) begin(columns []stream.Column) (err error) {
	if err := w.take(columns); err != nil {
		return err
	}
	if err := w.place(); err != nil {
		return err
	}
	w.release = func() {} // a folder may have several writers
	if !w.folder {
		if w.release, err = files.Claim(w.path); err != nil {
			return err
		}
	}
	if err := w.next(); err != nil {
		w.release()
		return err
	}
	w.open = true
	return nil
}

// place sees to it that files can get their names later.
func (w *Writer) place() error {
	if w.folder {
		return os.MkdirAll(w.path, 0o777)
	}
	info, err := os.Stat(w.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("there is something of that name that is not a file; for a folder of files there is Folder")
	}
	return err
}

// next begins a file.
func (w *Writer) next() (err error) {
	path := w.path
	switch {
	case w.folder:
		path = filepath.Join(path, fmt.Sprintf("rows-%s-%06d.parquet", w.started.Format("20060102T150405.000000000Z"), w.parts+1))
	default:
		if target, err := filepath.EvalSymlinks(path); err == nil { // a link stays, and what it leads to is replaced
			path = target
		}
	}
	w.part, err = newPart(path, w.columns, w.through)
	w.parts++
	return err
}

// Write implements stream.Sink. Without Open before it, it opens the sink with the columns of the rows.
func (w *Writer) Write(_ context.Context, epoch int64, rows *stream.Rows) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.open && rows.Unit != "" {
		return w.named(errors.New("it is closed, and has to go on from its checkpoint"))
	}
	if !w.open {
		if err := w.begin(rows.Columns); err != nil {
			return w.named(err)
		}
	}
	if w.err != nil {
		w.told = true
		return w.err
	}
	if !slices.Equal(rows.Columns, w.given) {
		return fmt.Errorf("write %s: the rows have the columns %v, and the file has %v", w.path, rows.Columns, w.given)
	}
	if rows.Len() == 0 {
		return nil
	}
	if w.epochs != nil {
		return w.writeEpoch(epoch, rows)
	}
	err := w.write(rows)
	w.told = err != nil
	return err
}

// fit tells which value does not fit its column.
func (w *Writer) fit(rows *stream.Rows) error {
	for i := range rows.Len() {
		for at, c := range w.columns {
			if err := c.misfit(rows.At(i, at)); err != nil {
				return fmt.Errorf("write rows to %s: row %d: %w", w.path, i, err)
			}
		}
	}
	return nil
}

func (w *Writer) write(rows *stream.Rows) error {
	if w.err = w.fit(rows); w.err != nil {
		return w.err // the part is as it was, and Close completes it
	}
	if w.part == nil {
		if err := w.next(); err != nil {
			return w.fail(err)
		}
	}
	if err := w.part.write(rows); err != nil {
		return w.fail(err)
	}
	switch {
	case !w.folder:
		return nil
	case w.part.rows >= int64(w.rows):
		return w.complete()
	}
	w.arm()
	return nil
}

// arm starts the timer of a part that has its first rows.
func (w *Writer) arm() {
	if w.timer != nil {
		return
	}
	p := w.part
	w.wait.Add(1)
	w.timer = time.AfterFunc(w.every, func() {
		defer w.wait.Done()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.part == p && w.err == nil {
			w.timer = nil // it has run
			w.complete()  // the next Write, or Close, tells of an error
		}
	})
}

func (w *Writer) disarm() {
	if w.timer != nil && w.timer.Stop() {
		w.wait.Done()
	}
	w.timer = nil
}

// complete gives the part its name.
func (w *Writer) complete() error {
	w.disarm()
	p := w.part
	w.part = nil
	if err := p.complete(); err != nil {
		return w.fail(err)
	}
	return nil
}

// fail ends the writing: the part cannot be completed any more.
func (w *Writer) fail(err error) error {
	w.disarm()
	if w.part != nil {
		w.part.drop()
		w.part = nil
	}
	w.err = fmt.Errorf("write rows to %s: %w", w.path, err)
	return w.err
}

// Close implements stream.Closer: it completes the file that is being written. A sink that is closed can be opened anew.
func (w *Writer) Close() error {
	err := w.end()
	w.wait.Wait()
	return err
}

func (w *Writer) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.open {
		return nil
	}
	w.open = false
	if w.epochs != nil {
		w.epochs.Close()
		w.epochs = nil
		return nil
	}
	defer w.release()
	before, told := w.err, w.told
	var err error
	switch {
	case w.part == nil:
	case w.folder && w.part.rows == 0:
		w.part.drop()
		w.part = nil
	default:
		err = w.complete()
	}
	if !told {
		err = errors.Join(before, err)
	}
	return err
}
