package file

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// lastBytes is how much of what has been read of a followed file must still be there when it has grown: enough that another file of the same name
// is told from it.
const lastBytes = 256

// partition is a file and how far it has been read. It belongs to the run, and while it is busy to the worker that reads it.
type partition struct {
	id   int
	path string
	from int64 // the first offset to hand over
	was  *seen // what the checkpoint knows of the file; nil: nothing, or it has been compared

	info     os.FileInfo // when it was last read; nil before
	size     int64       // bytes that there were then
	place    place       // behind the last record
	last     []byte      // what stands before that, at most lastBytes
	header   []string    // of CSV; nil before it has been read
	next     int64       // the offset of the next record
	busy     bool        // waits for a worker, or is with one
	reported time.Time
}

// place is a place in a file's text, with what stands before it.
type place struct {
	seen
	lines int64 // that are complete before it
}

// look tells whether a file has grown since it was read, and fails if something else has happened to it.
func (p *partition) look() (grown bool, err error) {
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("follow %s: the file has been removed or renamed; %d records of it were read", p.path, p.next)
	}
	if err != nil {
		return false, fmt.Errorf("follow files: %w", err)
	}
	_, packed := packing(p.path)
	switch {
	case !os.SameFile(info, p.info):
		return false, p.replaced()
	case info.Size() < p.size:
		return false, fmt.Errorf("follow %s: the file has been cut short, from %d bytes to %d; %d records were read", p.path, p.size, info.Size(), p.next)
	case packed != "" && info.Size() > p.size:
		return false, fmt.Errorf("follow %s: the compressed file has grown after it was read; %d records were read", p.path, p.next)
	case packed == "" && info.Size() == p.size && !info.ModTime().Equal(p.info.ModTime()):
		in, err := open(p.path, 0)
		if err != nil {
			return false, err
		}
		defer in.Close()
		p.info = info
		return false, p.same(in.file)
	}
	return info.Size() > p.size, nil
}

func (p *partition) replaced() error {
	return fmt.Errorf("follow %s: the file has been replaced by another; %d records of the old one were read", p.path, p.next)
}

// same fails unless what was last read of a followed file still stands where it stood.
func (p *partition) same(f *os.File) error {
	now := make([]byte, len(p.last))
	if _, err := f.ReadAt(now, p.place.bytes-int64(len(now))); err != nil || !bytes.Equal(now, p.last) {
		return fmt.Errorf("follow %s: the file has been written anew: what stands before byte %d is not what was read there; %d records were read",
			p.path, p.place.bytes, p.next)
	}
	return nil
}

// remember keeps the end of what has been read of a file that is followed.
func (p *partition) remember(f *os.File) error {
	p.last = make([]byte, min(p.place.bytes, lastBytes))
	if _, err := f.ReadAt(p.last, p.place.bytes-int64(len(p.last))); err != nil {
		return fmt.Errorf("follow files: %w", err)
	}
	return nil
}
