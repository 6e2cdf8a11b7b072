package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"cancha/stream"
	"cancha/stream/internal/files"
)

// Resume implements stream.Resumer. Position is the size of the file behind a Write, and its checksum.
func (s *Sink) Resume(ctx context.Context, columns []stream.Column, mark stream.Mark) (int64, error) {
	if s.file != nil {
		return 0, fmt.Errorf("write %s: %w", s.path, files.ErrServes)
	}
	s.exact = true
	if err := s.locate(); err != nil {
		return 0, err
	}
	if mark.Position == nil {
		if err := s.fresh(columns, mark); err != nil {
			return 0, fmt.Errorf("write %s: %w", s.path, err)
		}
		return mark.Epoch, s.Open(ctx, columns)
	}
	at, ok := leftAt(mark.Position)
	if !ok {
		return 0, fmt.Errorf("write %s where a checkpoint has left it: its position %x is no size of a file; it is damaged, or of another sink", s.path, mark.Position)
	}
	var err error
	if s.release, err = files.Claim(s.path); err != nil {
		return 0, fmt.Errorf("write %s: %w", s.path, err)
	}
	if err := s.find(ctx, columns, at); err != nil {
		s.release()
		return 0, err
	}
	return mark.Epoch, nil
}

// fresh refuses to replace a file with rows, where a query goes on that has not written it: those before the checkpoint would be nowhere.
func (s *Sink) fresh(columns []stream.Column, mark stream.Mark) error {
	if s.append || mark.Snapshot.Number == 0 {
		return nil
	}
	info, err := os.Stat(s.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // what is wrong with it, Open says
	}
	head, err := s.head(columns)
	if err != nil {
		return err
	}
	in, err := open(s.path, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if n, _ := io.ReadFull(in, make([]byte, len(head)+1)); n <= len(head) {
		return nil
	}
	return fmt.Errorf("it has rows, and the checkpoint, of epoch %d, has not written them: the file would be replaced, and would have the rows from now on alone; "+
		"move it away, write to another file, or behind what is there with Append", mark.Snapshot.Number)
}

// left is where a checkpoint has left a file.
type left struct {
	size int64
	sum  uint32
	sums bool // sum is known: a version of before knew none
}

// leftAt reads what Position has said.
func leftAt(position []byte) (at left, ok bool) {
	size, n := binary.Varint(position)
	if n <= 0 || size < 0 {
		return at, false
	}
	switch rest := position[n:]; len(rest) {
	case 0:
		return left{size: size}, true
	case 4:
		return left{size, binary.LittleEndian.Uint32(rest), true}, true
	}
	return at, false
}

// Position implements stream.Resumer.
func (s *Sink) Position() []byte {
	return binary.LittleEndian.AppendUint32(binary.AppendVarint(nil, s.whole), s.sum)
}

// find opens the file and sees whether it is up to a place what it was. Nothing of it changes before Revert.
func (s *Sink) find(ctx context.Context, columns []stream.Column, at left) error {
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("write rows where a checkpoint has left them: %w: put the file back, or write to another file, which gets the rows from now on", err)
	}
	sum := at.sum
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size < at.size {
		err = fmt.Errorf("it has %d bytes, and had %d when the checkpoint was taken: put it back as it was, go on from the checkpoint that wrote it last, "+
			"or write to another file, which gets the rows from now on", size, at.size)
	}
	if err == nil {
		sum, err = sumOf(ctx, f, at.size)
	}
	if err == nil && at.sums && at.size > 0 && sum != at.sum { // a device has no size
		err = fmt.Errorf("its first %d bytes are not those of when the checkpoint was taken: "+
			"another query has written it since, or this one that has gone on from an older snapshot; go on from the checkpoint that wrote it last, or write to another file, which gets the rows from now on", at.size)
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("write %s where a checkpoint has left it: %w", s.path, err)
	}
	s.columns, s.file, s.out, s.pack, s.whole, s.sum, s.err, s.waits = slices.Clone(columns), f, summing{s, f}, nil, at.size, sum, nil, true
	return nil
}

// Revert implements stream.Reverter: it takes off what stands behind the last epoch that the checkpoint knows.
func (s *Sink) Revert(context.Context, string) (note string, err error) { return "", s.cut() }

func (s *Sink) cut() error {
	if !s.waits || s.file == nil {
		return nil
	}
	err := s.file.Truncate(s.whole)
	if info, failed := s.file.Stat(); failed == nil && !info.Mode().IsRegular() {
		err = nil // a device has no end
	}
	if err == nil {
		_, err = s.file.Seek(s.whole, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("write %s where a checkpoint has left it: %w", s.path, err)
	}
	s.waits = false
	return s.begin(nil)
}

// alone refuses to write into a file that its path does not lead to any more, and into one of a query with a checkpoint that has another end than this sink has
// made: another process is at it. What is there stays.
func (s *Sink) alone() error {
	info, err := s.file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err == nil {
		err = s.there(info)
	}
	if err == nil && s.exact && info.Size() != s.whole {
		err = fmt.Errorf("it has %d bytes, and this query has made it %d long: another one writes it; of two that go on from one checkpoint and its savepoint "+
			"only one may write to the same file", info.Size(), s.whole)
	}
	if err != nil {
		s.err = fmt.Errorf("write rows to %s: %w", s.path, err)
		return s.err
	}
	return nil
}

// landed fails where the file has gone while rows were written into it.
func (s *Sink) landed() error {
	info, err := s.file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = s.there(info)
	}
	if err != nil {
		return s.fail(err)
	}
	return nil
}

// there fails unless the sink's path leads to the file that the sink has open: rows would go where nobody looks for them.
func (s *Sink) there(open os.FileInfo) error {
	next := "start the query again, which makes the file anew, or write to another one"
	if s.exact {
		next = "put it back as it was and start the query again, or write to another file, which gets the rows from now on"
	}
	is, err := os.Stat(s.at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("it has been removed or renamed while the query wrote it: %s", next)
	case err != nil:
		return err
	case !os.SameFile(open, is):
		return fmt.Errorf("it has been replaced by another file while the query wrote it: %s", next)
	}
	return nil
}

// castagnoli is the polynomial of the checksum, which processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summing writes into the sink's file, and keeps its checksum. A Write that fails is the last: the sum does not matter then.
type summing struct {
	s    *Sink
	file *os.File
}

// Write implements io.Writer.
func (w summing) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.s.sum = crc32.Update(w.s.sum, castagnoli, p[:n])
	return n, err
}

// sumOf is the checksum of the first bytes of a file.
func sumOf(ctx context.Context, f *os.File, size int64) (sum uint32, err error) {
	buf := make([]byte, 1<<20)
	in := io.NewSectionReader(f, 0, size)
	for ctx.Err() == nil {
		n, err := in.Read(buf)
		sum = crc32.Update(sum, castagnoli, buf[:n])
		if errors.Is(err, io.EOF) {
			return sum, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, context.Cause(ctx)
}
