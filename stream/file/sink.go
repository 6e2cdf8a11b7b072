package file

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"cancha/stream"
	"cancha/stream/internal/files"
)

// writeAt is how much text is gathered before it goes to the file, within one Write.
const writeAt = 1 << 20

// Sink writes rows into a file. It implements stream.Sink, stream.Opener and stream.Closer; its methods are called one after another.
//
// The file is made when the query starts, in place of an older one of that name, and grows while the query runs. If the name ends in .gz or .zst it
// is compressed; it can be read up to the last Write at any time, and is complete once it is closed.
//
// When a Write has returned, its rows are with the operating system: they outlive the process, however that dies, and Close waits until they are on
// the disk. If a Write fails, on a full disk for example, its part of the file is taken back, so that the file ends with the
// last whole Write, and every later Write fails with the same error. A process that is killed within a Write leaves that one's rows in part,
// perhaps with half a line at the end. A file that is removed, renamed or replaced while the query writes it makes the next Write fail.
//
// In a query with a Checkpoint each row is there exactly once: the query goes on with the file as it was after an epoch that the checkpoint knows, and
// what stands behind that is taken off. Each Write then waits until the disk has it. Who reads such a file while it grows sees whole epochs, but for
// the one that is being written: see Epochs for readers that must not. A query that goes on from an older snapshot, such as a savepoint, takes off what came
// later, and that comes again. The checkpoint knows a checksum of the file: where what stands before that place is not what it was, the start is refused, which
// takes reading it.
type Sink struct {
	path   string
	encode func(dst []byte, rows *stream.Rows, from int) (text []byte, next int, err error)
	head   func(columns []stream.Column) ([]byte, error)
	append bool

	columns []stream.Column
	file    *os.File
	at      string    // path, wherever the process has gone since
	out     io.Writer // packs into file, or is it
	pack    packer    // nil: plain
	buf     []byte
	release func() // gives the file back to other sinks
	whole   int64  // bytes of the file up to the last whole Write
	sum     uint32 // checksum of these
	err     error  // of a Write that has failed
	exact   bool   // the query has a checkpoint
	waits   bool   // the file is still to be cut, and nothing is set up behind that
}

// packer is what gzip's and Zstandard's writers have in common.
type packer interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// String tells where the rows go, as Explain shows it.
func (s *Sink) String() string { return "file " + s.path }

// Place implements stream.Placed.
func (s *Sink) Place() string { return files.Place(s.path) }

// CSV returns a sink that writes a line of the columns' names and a row each line, as RFC 4180 has it. Times are in RFC 3339, numbers have as many
// digits as tell them from all others, absent values are empty fields; so is an empty text.
func CSV(path string) *Sink {
	return &Sink{path: path, encode: encodeCSV, head: headCSV}
}

// JSONLines returns a sink that writes an object each line, with the columns in their order and without those that are absent.
func JSONLines(path string) *Sink {
	return &Sink{path: path, encode: encodeJSON, head: func([]stream.Column) ([]byte, error) { return nil, nil }}
}

// Append keeps what is in the file and writes behind it. The file may not be compressed, must end with a whole line, and if it is CSV begin with the
// same header.
func (s *Sink) Append() *Sink {
	s.append = true
	return s
}

// Open implements stream.Opener: it makes the file and writes the header.
func (s *Sink) Open(_ context.Context, columns []stream.Column) error {
	if s.file != nil {
		return fmt.Errorf("write %s: %w", s.path, files.ErrServes)
	}
	if err := s.locate(); err != nil {
		return err
	}
	head, err := s.head(columns)
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	if s.release, err = files.Claim(s.path); err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	if err := s.make(columns, head); err != nil {
		s.release()
		return err
	}
	return nil
}

// locate finds out where the path leads from here.
func (s *Sink) locate() (err error) {
	if s.at, err = filepath.Abs(s.path); err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	return nil
}

// make makes the file of a sink that has claimed it.
func (s *Sink) make(columns []stream.Column, head []byte) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if s.append {
		flags = os.O_RDWR | os.O_CREATE | os.O_APPEND
	}
	f, err := os.OpenFile(s.path, flags, 0o666)
	if err != nil {
		return fmt.Errorf("write rows: %w", files.Full(files.NoFolder(err, s.path)))
	}
	s.columns, s.file, s.out, s.pack, s.whole, s.sum, s.err, s.waits = slices.Clone(columns), f, summing{s, f}, nil, 0, 0, nil, false
	if s.append {
		if s.whole, err = s.behind(head); err == nil && s.exact {
			s.sum, err = sumOf(context.Background(), f, s.whole)
		}
		if err != nil {
			s.file = nil
			f.Close()
			return fmt.Errorf("write %s: behind what is there: %w", s.path, err)
		}
		if s.whole > 0 {
			return nil
		}
	}
	if err := s.begin(head); err != nil {
		s.file = nil
		f.Close()
		return err
	}
	return nil
}

// behind returns how much there is in a file behind which rows are to be written, and whether they can be.
func (s *Sink) behind(head []byte) (size int64, err error) {
	if _, packed := packing(s.path); packed != "" {
		return 0, errors.New("the file is compressed")
	}
	if size, err = s.file.Seek(0, io.SeekEnd); err != nil || size == 0 {
		return size, err
	}
	first := make([]byte, len(head))
	if _, err := s.file.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if !bytes.Equal(first, head) {
		return 0, fmt.Errorf("it does not begin with the line %q", bytes.TrimSuffix(head, []byte("\n")))
	}
	var last [1]byte
	if _, err := s.file.ReadAt(last[:], size-1); err != nil {
		return 0, err
	}
	if last[0] != '\n' {
		return 0, errors.New("its last line is not whole: it has no line break")
	}
	return size, nil
}

// begin sets up the packing, and writes the header so that whoever opens the file sees it.
func (s *Sink) begin(head []byte) error {
	switch {
	case strings.HasSuffix(s.path, ".gz"):
		s.pack = gzip.NewWriter(summing{s, s.file})
	case strings.HasSuffix(s.path, ".zst"):
		z, err := zstd.NewWriter(summing{s, s.file}, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("write %s: %w", s.path, err)
		}
		s.pack = z
	}
	if s.pack != nil {
		s.out = s.pack
	}
	if len(head) == 0 {
		return nil
	}
	if _, err := s.out.Write(head); err != nil {
		return s.fail(err)
	}
	return s.flush()
}

// Write implements stream.Sink. Without Open before it, it opens the file with the columns of the rows.
func (s *Sink) Write(ctx context.Context, _ int64, rows *stream.Rows) error {
	if s.file == nil {
		if err := s.Open(ctx, rows.Columns); err != nil {
			return err
		}
	}
	if err := s.cut(); err != nil { // who wraps a sink may have hidden that it can go back
		return err
	}
	if s.err != nil {
		return s.err
	}
	if !slices.Equal(rows.Columns, s.columns) {
		return fmt.Errorf("write %s: the rows have the columns %v, and the file has %v", s.path, rows.Columns, s.columns)
	}
	if rows.Len() == 0 {
		return nil
	}
	if err := s.alone(); err != nil {
		return err
	}
	for next := 0; next < rows.Len(); {
		var err error
		if s.buf, next, err = s.encode(s.buf[:0], rows, next); err != nil {
			return s.fail(err)
		}
		if _, err := s.out.Write(s.buf); err != nil {
			return s.fail(err)
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.landed()
}

// flush ends a Write: what has been written of the file can be read.
func (s *Sink) flush() error {
	if s.pack != nil {
		if err := s.pause(); err != nil {
			return s.fail(err)
		}
	}
	if s.exact {
		if err := s.file.Sync(); err != nil {
			return s.fail(err)
		}
	}
	at, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil && !errors.Is(err, syscall.ESPIPE) {
		return s.fail(err)
	}
	s.whole = at
	return nil
}

// pause has the packer write what it holds. Where the file may have to be cut here, its packed text ends here, and another begins: both formats are
// such texts, one behind the other.
func (s *Sink) pause() error {
	if !s.exact {
		return s.pack.Flush()
	}
	if err := s.pack.Close(); err != nil {
		return err
	}
	s.pack.Reset(summing{s, s.file})
	return nil
}

// fail takes the part of a failed Write back, if the file lets it.
func (s *Sink) fail(err error) error {
	s.err = fmt.Errorf("write rows to %s: %w", s.path, files.Full(err))
	if info, err := s.file.Stat(); err == nil && info.Mode().IsRegular() {
		s.file.Truncate(s.whole) // if this fails too, the file ends with a part of the Write, as after a crash
	}
	return s.err
}

// Close implements stream.Closer: it completes the file and waits until it is on the disk. A sink that is closed can be opened anew.
func (s *Sink) Close() error {
	f := s.file
	if f == nil {
		return nil
	}
	s.file = nil
	defer s.release()
	if s.err != nil || s.waits { // which Write has returned; or the query has not started
		f.Close()
		return nil
	}
	var err error
	if s.pack != nil {
		err = s.pack.Close()
	}
	if sync := f.Sync(); !errors.Is(sync, syscall.EINVAL) { // which is what devices and pipes say
		err = errors.Join(err, sync)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("complete %s: %w", s.path, files.Full(err))
	}
	return nil
}

func encodeJSON(dst []byte, rows *stream.Rows, from int) ([]byte, int, error) {
	for ; from < rows.Len() && len(dst) < writeAt; from++ {
		dst = append(rows.AppendJSON(dst, from), '\n')
	}
	return dst, from, nil
}

func headCSV(columns []stream.Column) ([]byte, error) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(names) // errors are kept for Flush
	w.Flush()
	return b.Bytes(), w.Error()
}

func encodeCSV(dst []byte, rows *stream.Rows, from int) ([]byte, int, error) {
	b := bytes.NewBuffer(dst)
	w := csv.NewWriter(b)
	fields := make([]string, len(rows.Columns))
	for ; from < rows.Len() && b.Len() < writeAt; from++ {
		for c := range fields {
			fields[c] = rows.At(from, c).String()
		}
		if len(fields) == 1 && fields[0] == "" { // an empty line would be no row
			w.Flush()
			b.WriteString("\"\"\n")
			continue
		}
		w.Write(fields)
	}
	w.Flush()
	return b.Bytes(), from, w.Error()
}
