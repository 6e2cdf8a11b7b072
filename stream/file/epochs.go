package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cancha/stream"
	"cancha/stream/internal/files"
)

// Epochs is a sink that writes a folder of files, one for each epoch of a query with a Checkpoint. It implements stream.Sink and stream.Resumer.
//
// A file gets its name, which tells the query, the part of it and the epoch, once it is whole and on the disk, and does not change any more. So
// who reads the folder sees whole epochs, each once: also while a query is killed and started again, and where several processes of a group, of one
// machine or of several that share the file system, write it together. Names begin with a dot until then; what is left of those by a process
// that was killed can be deleted.
type Epochs struct {
	dir, suffix string
	encode      func(dst []byte, rows *stream.Rows, from int) (text []byte, next int, err error)
	head        func(columns []stream.Column) ([]byte, error)

	mu    sync.Mutex
	begin []byte            // of each file
	names map[string]string // by unit, what the names of its files begin with
}

// CSVEpochs returns a sink that writes each epoch into a file of a folder as CSV does.
func CSVEpochs(dir string) *Epochs {
	return &Epochs{dir: dir, suffix: ".csv", encode: encodeCSV, head: headCSV}
}

// JSONLinesEpochs returns a sink that writes each epoch into a file of a folder as JSONLines does.
func JSONLinesEpochs(dir string) *Epochs {
	return &Epochs{dir: dir, suffix: ".jsonl", encode: encodeJSON, head: func([]stream.Column) ([]byte, error) { return nil, nil }}
}

// String tells where the rows go, as Explain shows it.
func (e *Epochs) String() string { return "folder " + e.dir }

// Open implements stream.Opener: without a checkpoint there are no epochs.
func (e *Epochs) Open(context.Context, []stream.Column) error {
	return fmt.Errorf("write %s: files of epochs want a query with a Checkpoint; write one file (CSV, JSONLines) without", e.dir)
}

// Resume implements stream.Resumer.
func (e *Epochs) Resume(_ context.Context, columns []stream.Column, mark stream.Mark) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	if e.begin, err = e.head(columns); err != nil {
		return 0, fmt.Errorf("write %s: %w", e.dir, err)
	}
	if err := os.MkdirAll(e.dir, 0o777); err != nil {
		return 0, fmt.Errorf("write rows: %w", files.Full(err))
	}
	if e.names == nil {
		e.names = map[string]string{}
	}
	e.names[mark.Unit] = fmt.Sprintf("%.8s-%s-", mark.Query, url.PathEscape(strings.ReplaceAll(mark.Unit, " ", "-")))
	last, err := e.last(e.names[mark.Unit])
	return max(last, mark.Epoch), err
}

// last is the greatest epoch among files whose names begin so.
func (e *Epochs) last(begins string) (last int64, err error) {
	entries, err := os.ReadDir(e.dir)
	if err != nil {
		return 0, fmt.Errorf("write rows: %w", err)
	}
	for _, entry := range entries {
		rest, is := strings.CutPrefix(entry.Name(), begins)
		number, whole := strings.CutSuffix(rest, e.suffix)
		if epoch, err := strconv.ParseInt(number, 10, 64); is && whole && err == nil {
			last = max(last, epoch)
		}
	}
	return last, nil
}

// Position implements stream.Resumer: the names of the files tell.
func (e *Epochs) Position() []byte { return nil }

// Write implements stream.Sink.
func (e *Epochs) Write(_ context.Context, epoch int64, rows *stream.Rows) error {
	e.mu.Lock()
	begins, known := e.names[rows.Unit]
	text := slices.Clone(e.begin)
	e.mu.Unlock()
	if !known {
		return fmt.Errorf("write %s: the folder is not open for %q", e.dir, rows.Unit)
	}
	for next := 0; next < rows.Len(); {
		more, to, err := e.encode(nil, rows, next)
		if err != nil {
			return fmt.Errorf("write rows to %s: %w", e.dir, err)
		}
		text, next = append(text, more...), to
	}
	if err := e.whole(fmt.Sprintf("%s%012d%s", begins, epoch, e.suffix), text); err != nil {
		return fmt.Errorf("write epoch %d to %s: %w", epoch, e.dir, files.Full(err))
	}
	return nil
}

// whole writes a file that has its name only when it is on the disk, and leaves one that is there as it is: it has the same rows.
func (e *Epochs) whole(name string, text []byte) error {
	path := filepath.Join(e.dir, name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
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
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = nil
	return nil
}
