package report

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"cancha/internal/flock"
	"cancha/jobs/job"
)

// Journal is a file of results that grows: one process appends to it, a line for each end of a job. A job's id and the moment of its end
// name a line, so that what is appended again after a crash is not there twice; a job that is replayed and ends again has a second one. Its
// methods are for one goroutine.
type Journal struct {
	file *os.File // nil: nothing is written
	path string
	seen map[end]bool
	last Record // with the highest event number
	torn int64  // bytes of a last line without end that OpenJournal has cut off
}

// end names an end of a job.
type end [16]byte

func endOf(id string, completed float64) (e end) {
	sum := sha256.Sum256([]byte(id + "\x00" + strconv.FormatFloat(completed, 'g', -1, 64)))
	return end(sum[:])
}

// ErrHeld tells that another process appends to the file.
var ErrHeld = errors.New("another process appends to it")

// OpenJournal opens a file of results, or makes one, and calls a function with each that is there. A last line without end, as a crash
// leaves it, is cut off: it comes again. With "" there is no file, and nothing that was there before. The error is ErrHeld where another
// process has it.
func OpenJournal(path string, each func(*Record)) (*Journal, error) {
	j := &Journal{path: path, seen: map[end]bool{}}
	if path == "" {
		return j, nil
	}
	if err := j.open(each); err != nil {
		return nil, errors.Join(fmt.Errorf("jobs/report: open %s: %w", path, err), j.Close())
	}
	return j, nil
}

func (j *Journal) open(each func(*Record)) (err error) {
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return err
	}
	if about, err := j.file.Stat(); err != nil {
		return err
	} else if !about.Mode().IsRegular() { // reading a device or a pipe to its end may never end
		return errors.New("it is no regular file, and what it holds could not be continued; name another one")
	}
	if held, err := flock.Try(j.file, flock.Exclusive); err != nil {
		return err
	} else if !held {
		return ErrHeld
	}
	whole, torn, err := scan(j.file, j.path, func(r *Record) { j.note(r); each(r) })
	if err != nil || !torn {
		return err
	}
	size, err := j.file.Seek(0, io.SeekEnd)
	j.torn = size - whole
	return errors.Join(err, j.file.Truncate(whole))
}

func (j *Journal) note(r *Record) {
	j.seen[endOf(r.ID, r.Completed)] = true
	if r.Event >= j.last.Event {
		j.last = *r
	}
}

// Last is the record of the highest event number; that is 0 where there is none.
func (j *Journal) Last() Record { return j.last }

// Torn is how many bytes of a last line without end were cut off.
func (j *Journal) Torn() int64 { return j.torn }

// Append writes jobs that have ended, each with the number of that event (0: unknown), and returns the records of those that were not
// there. They are on the disk then. After an error nothing more is appended; what is there, OpenJournal mends.
func (j *Journal) Append(all []*job.Job, events []uint64) (added []Record, err error) {
	var text []byte
	for i, one := range all {
		line, err := Line(one, events[i])
		if err != nil {
			return nil, err
		}
		r, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("jobs/report: append: %w", err)
		}
		if j.seen[endOf(r.ID, r.Completed)] {
			continue
		}
		j.note(&r)
		text, added = append(text, line...), append(added, r)
	}
	if j.file == nil || len(text) == 0 {
		return added, nil
	}
	if _, err = j.file.Write(text); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("jobs/report: append to %s: %w", j.path, err)
	}
	return added, nil
}

// Close closes the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return flock.Close(j.file)
}
