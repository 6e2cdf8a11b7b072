package file

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"cancha/stream"
)

// seen tells of a file's text, unpacked, what has been read of it. A checkpoint holds it as a text, so that another file of the same name is told from
// the one that was read.
type seen struct {
	bytes int64
	sum   uint32 // of these
	open  bool   // they end in a record without a line break: what is appended must begin with one, or the record would be another
}

// read takes in what has been read.
func (s *seen) read(text []byte) {
	s.bytes += int64(len(text))
	s.sum = crc32.Update(s.sum, castagnoli, text)
}

// String writes what parseSeen reads.
func (s seen) String() string {
	text := fmt.Sprintf("%d %08x", s.bytes, s.sum)
	if s.open {
		text += " open"
	}
	return text
}

// parseSeen reads what String has written.
func parseSeen(text string) (s seen, err error) {
	if _, err := fmt.Sscanf(text, "%d %08x", &s.bytes, &s.sum); err != nil {
		return seen{}, err
	}
	s.open = s.String()+" open" == text
	if s.String() != text || s.bytes < 0 {
		return seen{}, errors.New("it has another form")
	}
	return s, nil
}

// was is what a query's checkpoint knows of a partition's file; nil where it knows nothing, and of one that an earlier version wrote.
func was(h stream.Handler, p stream.Partition, path string) (*seen, error) {
	r, ok := h.(stream.Rememberer)
	if !ok {
		return nil, nil
	}
	text := r.Seen(p)
	if text == "" {
		return nil, nil
	}
	s, err := parseSeen(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: what the checkpoint has of it, %q, is not what this source writes: %w", path, text, err)
	}
	return &s, nil
}

// check fails unless a file still begins with what was read of it.
func (s *seen) check(ctx context.Context, path string) error {
	in, err := open(path, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	text := io.LimitReader(in, s.bytes)
	now, buf := seen{}, make([]byte, firstBuffer)
	for err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var n int
		n, err = text.Read(buf)
		now.read(buf[:n])
	}
	switch {
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read %s: %w", path, in.damage(err))
	case now.bytes < s.bytes:
		return s.other(path, fmt.Sprintf("%d bytes of text had been read, and it has %d", s.bytes, now.bytes))
	case now.sum != s.sum:
		return s.other(path, fmt.Sprintf("its first %d bytes of text are not those that had been read", s.bytes))
	case s.open && !ends(in):
		return s.other(path, fmt.Sprintf("its text had ended with byte %d, and the last line goes on", s.bytes))
	}
	return nil
}

// ends tells whether a line ends where a file's text has been read to.
func ends(in io.Reader) bool {
	var next [1]byte
	_, err := io.ReadFull(in, next[:])
	return err != nil || next[0] == '\n' || next[0] == '\r'
}

func (s *seen) other(path, why string) error {
	return fmt.Errorf("read %s: it is not the file that the checkpoint knows: %s. Put the file back, or give another place for the checkpoint to begin anew", path, why)
}
