package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"cancha/stream"
)

// reader reads one partition after another; it keeps its buffers.
type reader struct {
	files *Files
	h     stream.Handler
	topic string

	p  *partition
	in *input

	buf        []byte
	start, end int   // what has been read and not been cut
	at         place // of start
	err        error // why no more can be read, once that is so; io.EOF behind the last byte

	rows    *rows // nil if the file is JSON lines
	row     int64 // the line in which the row in hand begins
	records []stream.Record
	ends    []int // where each record's value ends in rows.json
}

// read reads a partition from where it was left to its present end, and hands its records over.
func (r *reader) read(ctx context.Context, p *partition) error {
	if p.was != nil {
		if err := p.was.check(ctx, p.path); err != nil {
			return err
		}
		p.was = nil
	}
	in, err := open(p.path, p.place.bytes)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.file.Stat()
	if err != nil {
		return fmt.Errorf("read files: %w", err)
	}
	if p.info != nil {
		if !os.SameFile(info, p.info) {
			return p.replaced()
		}
		if err := p.same(in.file); err != nil {
			return err
		}
	}
	p.info, p.size = info, info.Size()
	growing := r.files.follow && in.packed == nil
	if growing { // what comes meanwhile is the next turn's: no file keeps a worker for ever
		in.Reader = io.LimitReader(in.file, info.Size()-p.place.bytes)
	}
	r.begin(p, in)
	if err := r.toEnd(ctx, growing); err != nil || !growing {
		return err
	}
	return p.remember(in.file)
}

func (r *reader) begin(p *partition, in *input) {
	r.p, r.in, r.start, r.end, r.at, r.err, r.rows = p, in, 0, 0, p.place, nil, nil
	if r.buf == nil {
		r.buf = make([]byte, min(firstBuffer, r.most()))
	}
	if as, comma := r.files.written(p.path); as == asCSV {
		if p.header == nil {
			p.header = r.files.names
		}
		r.rows = newRows(comma, p.header, p.place == place{})
	}
}

// most is the size of a buffer in which a line that is just too long shows as such.
func (r *reader) most() int { return r.files.limit + len("\r\n") + 1 }

// toEnd reads until the file's present end. What is whole is handed over before an error comes out.
func (r *reader) toEnd(ctx context.Context, growing bool) error {
	for ctx.Err() == nil {
		more, wrong := r.cut()
		if err := r.hand(ctx); err != nil {
			return err
		}
		switch {
		case wrong != nil:
			return fmt.Errorf("read %s: %w", r.p.path, wrong)
		case more:
		case r.err == nil:
			r.fill()
		case !errors.Is(r.err, io.EOF):
			return fmt.Errorf("read %s: behind line %d: %w", r.p.path, r.at.lines, r.err)
		default:
			return r.finish(ctx, growing)
		}
	}
	return nil
}

// fill reads on, into a larger buffer if a line fills the whole of it.
func (r *reader) fill() {
	copy(r.buf, r.buf[r.start:r.end])
	r.start, r.end = 0, r.end-r.start
	if r.end == len(r.buf) {
		r.buf = append(r.buf, make([]byte, min(len(r.buf), r.most()-len(r.buf)))...)
	}
	first := r.at.bytes == 0 && r.end == 0
	for r.end < len(r.buf) && r.err == nil {
		n, err := r.in.Read(r.buf[r.end:])
		r.end, r.err = r.end+n, err
	}
	if r.err != nil && r.err != io.EOF {
		r.err = r.in.damage(r.err)
	}
	if first {
		mark, err := opening(r.buf[:r.end])
		if err != nil {
			r.end, r.err = 0, err
		}
		r.start = mark
		r.at.read(r.buf[:mark])
	}
}

// cut makes records of complete lines until the batch is full or there are no more: more tells which.
func (r *reader) cut() (more bool, err error) {
	for len(r.records) < maxBatchRecords && (r.rows == nil || r.valuesEnd() < firstBuffer) {
		rest := r.buf[r.start:r.end]
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			if len(rest) > r.files.limit+len("\r") {
				return false, r.tooLong(r.at.lines + 1)
			}
			return false, nil
		}
		if err := r.line(rest[:n]); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *reader) tooLong(line int64) error {
	return fmt.Errorf("line %d: longer than %d bytes, the limit", line, r.files.limit)
}

// line takes in a line, with the end that it has.
func (r *reader) line(line []byte) error {
	r.start += len(line)
	r.at.read(line)
	r.at.lines++
	text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(text) > r.files.limit {
		return r.tooLong(r.at.lines)
	}
	if r.rows != nil {
		return r.rowLine(line, len(text))
	}
	if len(text) > 0 && (text[0] > ' ' || len(bytes.TrimSpace(text)) > 0) {
		r.add(text)
	}
	r.p.place = r.at
	return nil
}

// rowLine takes in a line of CSV, which ends at its byte end before the line break.
func (r *reader) rowLine(line []byte, end int) error {
	if !r.rows.open() {
		if end == 0 {
			r.p.place = r.at
			return nil
		}
		r.row = r.at.lines
	}
	whole, err := r.rows.take(line, end)
	if err != nil {
		return fmt.Errorf("line %d: %w", r.at.lines, err)
	}
	if r.rows.size > r.files.limit {
		return r.tooLong(r.row)
	}
	if !whole {
		return nil
	}
	if r.p.header == nil {
		if r.p.header, err = r.rows.named(); err != nil {
			return fmt.Errorf("line %d: %w", r.row, err)
		}
	} else {
		r.add(nil)
	}
	r.p.place = r.at
	return nil
}

// add makes a record, unless it stands before the first that is wanted. The value of a row is set when the batch is.
func (r *reader) add(value []byte) {
	offset := r.p.next
	r.p.next++
	if offset < r.p.from {
		if r.rows != nil {
			r.rows.json = r.rows.json[:r.valuesEnd()]
		}
		return
	}
	r.records = append(r.records, stream.Record{Partition: r.p.id, Offset: offset, Time: r.p.info.ModTime(), Value: value})
	if r.rows != nil {
		r.ends = append(r.ends, len(r.rows.json))
	}
}

func (r *reader) valuesEnd() int {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}

// hand hands the batch over, if there is one.
func (r *reader) hand(ctx context.Context) error {
	if len(r.records) == 0 {
		return nil
	}
	if r.rows != nil {
		begin := 0
		for i, end := range r.ends {
			r.records[i].Value = r.rows.json[begin:end:end]
			begin = end
		}
	}
	err := r.h.Batch(ctx, stream.Batch{Topic: r.topic, Partition: r.p.id, Records: r.records, HighWatermark: r.p.next, Seen: r.p.place.seen.String()})
	if r.rows != nil {
		r.rows.json = append(r.rows.json[:0], r.rows.json[r.valuesEnd():]...) // what there is of a row that goes on
	}
	r.records, r.ends = r.records[:0], r.ends[:0]
	return err
}

// finish is the end of a file: its last line need not end in a line break, unless the file may grow.
func (r *reader) finish(ctx context.Context, growing bool) error {
	if r.start < r.end && !growing {
		r.at.open = true
		if err := r.line(r.buf[r.start:r.end]); err != nil {
			return fmt.Errorf("read %s: %w", r.p.path, err)
		}
		if err := r.hand(ctx); err != nil {
			return err
		}
	}
	if r.rows != nil && r.rows.open() && !growing {
		return fmt.Errorf("read %s: line %d: the file ends within a quoted field of the row that begins here", r.p.path, r.row)
	}
	if r.p.next < r.p.from {
		return fmt.Errorf("read %s: it has %d records and is to be read from record %d: it is not the file of which that many were read", r.p.path, r.p.next, r.p.from)
	}
	return nil
}
