package parquet

import (
	"context"
	"errors"
	"fmt"

	"cancha/stream"
	"cancha/stream/internal/files"
)

// Resume implements stream.Resumer. The units of a query, of which another process may have begun some, share the folder.
func (w *Writer) Resume(_ context.Context, columns []stream.Column, mark stream.Mark) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.Marks(); err != nil {
		return 0, err
	}
	if w.epochs == nil {
		if err := w.take(columns); err != nil {
			return 0, w.named(err)
		}
	}
	epochs := w.epochs
	if epochs == nil {
		epochs = w.files()
	}
	last, err := epochs.Open(files.State{Run: mark.Run, Query: mark.Query, Unit: mark.Unit, Known: mark.Known, Epoch: mark.Epoch,
		Wrote: files.ID(mark.Wrote), Snapshot: files.ID(mark.Snapshot)})
	if err != nil {
		return 0, w.named(err)
	}
	w.epochs, w.open = epochs, true
	return last, nil
}

// Revert implements stream.Reverter: files of epochs behind the snapshot are removed.
func (w *Writer) Revert(_ context.Context, unit string) (note string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.epochs == nil {
		return "", nil
	}
	note, err = w.epochs.Revert(unit)
	return note, w.named(err)
}

func (w *Writer) files() *files.Epochs { return &files.Epochs{Dir: w.path, Suffix: ".parquet"} }

// Marks implements stream.Marked: the names of a folder's files. One file has none.
func (w *Writer) Marks() ([]string, error) {
	if !w.folder {
		return nil, w.named(errOneFile)
	}
	return []string{w.files().Place()}, nil
}

// errOneFile refuses a file that would have to take the rows of several runs.
var errOneFile = errors.New("one file of Parquet has the rows of one run, because its index is at the end, and a query with a Checkpoint goes on from run to run; " +
	"write parquet.Folder, which has a file for each epoch, or leave the Checkpoint out")

// Position implements stream.Resumer: the names of the files tell.
func (w *Writer) Position() []byte { return nil }

// writeEpoch writes the file of an epoch, unless it is there.
func (w *Writer) writeEpoch(epoch int64, rows *stream.Rows) error {
	if err := w.fit(rows); err != nil {
		return err
	}
	path, err := w.epochs.Next(rows.Unit, epoch, rows.Run)
	if err == nil && path != "" {
		err = w.whole(path, rows)
	}
	if err != nil {
		return fmt.Errorf("write epoch %d to %s: %w", epoch, w.path, files.Full(err))
	}
	return nil
}

// whole writes a file of all these rows. If that fails there is none.
func (w *Writer) whole(path string, rows *stream.Rows) error {
	p, err := newPart(path, w.columns, w.through)
	if err != nil {
		return err
	}
	if err := p.write(rows); err != nil {
		p.drop()
		return err
	}
	return p.complete()
}
