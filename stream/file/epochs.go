package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"cancha/stream"
	"cancha/stream/internal/files"
)

// Epochs is a sink that writes a folder of files, one for each epoch of a query with a Checkpoint. It implements stream.Sink and stream.Reverter.
//
// A file gets its name, which tells the query, the part of it, the epoch and the run of the query, once it is whole and on the disk, and does not change any more. So
// who reads the folder sees whole epochs, each once: also while a query is killed and started again, and where several processes of a group, of one
// machine or of several that share the file system, write it together. Names begin with a dot until then; what is left of those by a process
// that was killed can be deleted.
//
// A query that goes on from an older snapshot, such as a savepoint, takes off the files of later epochs, whose rows come again, and says so in a note. A hidden
// file for each part of the query (.….runs) tells which runs have written: where the folder has gone another way than the snapshot that a query goes on from,
// its start is refused, and so is a query that reads files of such names from the folder (see stream.Hearer). Readers may take files away: those are not missed,
// unless older ones stay and the newest that the checkpoint knows is gone.
type Epochs struct {
	names  files.Epochs
	encode func(dst []byte, rows *stream.Rows, from int) (text []byte, next int, err error)
	head   func(columns []stream.Column) ([]byte, error)

	mu    sync.Mutex
	begin []byte // of each file
}

// CSVEpochs returns a sink that writes each epoch into a file of a folder as CSV does.
func CSVEpochs(dir string) *Epochs {
	return &Epochs{names: files.Epochs{Dir: dir, Suffix: ".csv"}, encode: encodeCSV, head: headCSV}
}

// JSONLinesEpochs returns a sink that writes each epoch into a file of a folder as JSONLines does.
func JSONLinesEpochs(dir string) *Epochs {
	none := func([]stream.Column) ([]byte, error) { return nil, nil }
	return &Epochs{names: files.Epochs{Dir: dir, Suffix: ".jsonl"}, encode: encodeJSON, head: none}
}

// String tells where the rows go, as Explain shows it.
func (e *Epochs) String() string { return "folder " + e.names.Dir }

// Marks implements stream.Marked: the names of the files.
func (e *Epochs) Marks() ([]string, error) { return []string{e.names.Place()}, nil }

// Files returns patterns (see [filepath.Match]) of the paths of all files that the sink makes: Source asks for them (see stream.Hearer).
func (e *Epochs) Files() []string { return []string{e.names.Pattern()} }

// Open implements stream.Opener: without a checkpoint there are no epochs.
func (e *Epochs) Open(context.Context, []stream.Column) error {
	return fmt.Errorf("write %s: files of epochs want a query with a Checkpoint; write one file (CSV, JSONLines) without", e.names.Dir)
}

// Resume implements stream.Resumer. A query that has the sink keeps it until Close.
func (e *Epochs) Resume(_ context.Context, columns []stream.Column, mark stream.Mark) (int64, error) {
	begin, err := e.head(columns)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", e.names.Dir, err)
	}
	last, err := e.names.Open(files.State{Run: mark.Run, Query: mark.Query, Unit: mark.Unit, Known: mark.Known, Epoch: mark.Epoch,
		Wrote: files.ID(mark.Wrote), Snapshot: files.ID(mark.Snapshot)})
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", e.names.Dir, err)
	}
	e.mu.Lock()
	e.begin = begin
	e.mu.Unlock()
	return last, nil
}

// Revert implements stream.Reverter: files of epochs behind the snapshot are removed.
func (e *Epochs) Revert(_ context.Context, unit string) (note string, err error) {
	if note, err = e.names.Revert(unit); err != nil {
		err = fmt.Errorf("write %s: %w", e.names.Dir, err)
	}
	return note, err
}

// Position implements stream.Resumer: the names of the files tell.
func (e *Epochs) Position() []byte { return nil }

// Write implements stream.Sink.
func (e *Epochs) Write(_ context.Context, epoch int64, rows *stream.Rows) error {
	path, err := e.names.Next(rows.Unit, epoch, rows.Run)
	if err != nil {
		return fmt.Errorf("write %s: %w", e.names.Dir, err)
	}
	if path == "" {
		return nil
	}
	e.mu.Lock()
	text := slices.Clone(e.begin)
	e.mu.Unlock()
	for next := 0; next < rows.Len(); {
		more, to, err := e.encode(nil, rows, next)
		if err != nil {
			return fmt.Errorf("write rows to %s: %w", e.names.Dir, err)
		}
		text, next = append(text, more...), to
	}
	if err := whole(path, text); err != nil {
		return fmt.Errorf("write epoch %d to %s: %w", epoch, e.names.Dir, files.Full(err))
	}
	return nil
}

// whole writes a file that has its name only when it is on the disk.
func whole(path string, text []byte) error {
	f, err := files.Partial(path)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return files.Complete(f, path)
}

// Close implements stream.Closer.
func (e *Epochs) Close() error {
	e.names.Close()
	return nil
}
