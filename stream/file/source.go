package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/stream"
)

// format says how a file's records are written.
type format int

const (
	byName format = iota
	asLines
	asCSV
)

const (
	defaultLimit = 16 << 20

	// A handler gets at most this much at once; a query's progress and its reaction to a stop are as fine as that.
	maxBatchRecords = 4096
	firstBuffer     = 1 << 20

	pollEvery = 250 * time.Millisecond
	idleEvery = 500 * time.Millisecond
)

// Files is a source of records over files. Settings come before the first run; each run starts at the beginning.
type Files struct {
	pattern string
	format  format
	comma   byte // 0: by name
	names   []string
	follow  bool
	limit   int
	from    map[int]int64
}

// Source returns a source that reads a file, the files that a glob matches (see [filepath.Match]), or those in a folder whose names end in
// .jsonl, .ndjson, .json, .csv or .tsv, each also with .gz or .zst behind it; files whose names begin with a dot are left out. It reads each to
// its end, and ends.
//
// Each file is a partition; they are numbered in the order of their names, and their topic is the last element of the pattern. Offsets
// count a file's records from 0, and a record's time is when its file was last changed. The offset behind the last record of a file is
// not known before the file has been read: until then a batch's HighWatermark is the end of the batch.
//
// How a file is written goes by its name, after .gz or .zst is taken away: .csv is CSV with commas, .tsv with tabs, all else is JSON lines.
// The value of a record is the line in a file of JSON lines. In a CSV file, where fields in double quotes may hold commas and line breaks, it is a JSON object made of the row, with the names of the
// header line and each field as a text: the row 7,"Ada, Countess" under id,name is {"id":"7","name":"Ada, Countess"}.
// Format(stream.JSONFormat().TextNumbers()) has a query take such texts for numbers; CSVFormat is for records that are lines of CSV themselves. A column
// without a name is called by its place, column_1 and so on. A row with more or fewer fields than the header, a quote out of place,
// or text that is not UTF-8 is an error that names file and line.
//
// A query with a checkpoint reads a file on that has grown. It refuses one whose text does not begin with what was read of it; finding that out takes
// reading that part twice. Checkpoints of earlier versions know how many records were read, and no more.
//
// A run fails if nothing matches the pattern, if a file cannot be read, and if a compressed file is damaged; what stands before the
// damage is handed over first.
func Source(pattern string) *Files {
	return &Files{pattern: pattern, limit: defaultLimit}
}

// AsLines takes a record from each line of all files, whatever their names; of a folder all files are read then. The source does not look into
// lines: text that is not JSON is the query's to count.
func (f *Files) AsLines() *Files {
	f.format = asLines
	return f
}

// AsCSV reads all files as CSV, whatever their names; of a folder all files are read then.
func (f *Files) AsCSV() *Files {
	f.format = asCSV
	return f
}

// Comma sets what parts the fields of CSV files: a comma unless set, and a tab in files called .tsv. It must be an ASCII character other than a
// quote or a line break.
func (f *Files) Comma(comma byte) *Files {
	f.comma = comma
	return f
}

// Columns sets the names of the columns of CSV files that have no header line.
func (f *Files) Columns(names ...string) *Files {
	f.names = slices.Clone(names)
	return f
}

// Follow keeps the source open: files that grow are read on, and files that come to match are read too, which is looked after four
// times a second. Only complete lines are records. A followed file must only grow: one that is cut short, replaced or removed is an
// error that names it, and so is a compressed one that changes once it has been read: compressed files are to come complete, by a rename. A new
// file gets the next number, so numbers are those of a later run only if names sort in the order in which they come.
func (f *Files) Follow() *Files {
	f.follow = true
	return f
}

// LineLimit sets how many bytes a line, or a row of CSV, may have: 16 MiB unless set. A longer one is an error that names file and
// line. As many goroutines as read may each hold that much.
func (f *Files) LineLimit(bytes int) *Files {
	f.limit = max(1, bytes)
	return f
}

// From sets the first offset to hand over of some partitions, such as a checkpoint holds. A file that ends before it is not the file that
// the offset is from: an error.
func (f *Files) From(offsets map[int]int64) *Files {
	f.from = offsets
	return f
}

// Description implements stream.Source.
func (f *Files) Description() string {
	if f.follow {
		return "files " + f.pattern + ", followed"
	}
	return "files " + f.pattern
}

// Identity implements stream.Identified: also how the files are read, which decides what an offset counts and what a record is.
func (f *Files) Identity() string {
	is := f.Description() + [...]string{byName: "", asLines: ", as lines", asCSV: ", as CSV"}[f.format]
	if f.comma != 0 {
		is += fmt.Sprintf(", parted by %q", f.comma)
	}
	if len(f.names) > 0 {
		is += ", columns " + strings.Join(f.names, ", ")
	}
	return is
}

// Check implements stream.Checker.
func (f *Files) Check() error {
	if f.comma == '"' || f.comma == '\r' || f.comma == '\n' || f.comma >= 0x80 {
		return fmt.Errorf("read files %s: %q cannot part the fields of CSV", f.pattern, rune(f.comma))
	}
	_, wrong := filepath.Match(f.pattern, "")
	if _, err := os.Stat(f.pattern); f.pattern == "" || wrong != nil && err != nil { // a file may be called so
		return fmt.Errorf("read files %q: want a file, a folder or a pattern such as events/*.jsonl", f.pattern)
	}
	if _, err := header(f.names); err != nil {
		return fmt.Errorf("read files %s: %w", f.pattern, err)
	}
	_, err := f.find()
	return err
}

// Unmeasured implements stream.Unmeasured.
func (f *Files) Unmeasured() {}

// Run implements stream.Source.
func (f *Files) Run(ctx context.Context, h stream.Handler) error {
	if err := f.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{files: f, h: h, topic: filepath.Base(f.pattern), known: map[string]bool{}, jobs: make(chan *partition), done: make(chan result)}
	if err := r.find(); err != nil {
		return err
	}
	if len(r.fresh) == 0 { // a folder that is followed, and empty yet
		if n, ok := h.(stream.Noter); ok {
			n.Note(fmt.Sprintf("no file matches %s yet: waiting for the first", f.pattern))
		}
	}
	if err := r.assign(); err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { r.work(ctx) })
	}
	err := r.serve(ctx)
	cancel()
	workers.Wait()
	return err
}

// run is one run of a source. One goroutine (serve) owns its partitions but those that a worker has.
type run struct {
	files *Files
	h     stream.Handler
	topic string

	partitions []*partition
	known      map[string]bool // the paths of all partitions
	fresh      []string        // files that have been found and not been assigned
	queue      []*partition    // with something to read, in the order in which that was seen
	active     int             // at the workers
	jobs       chan *partition
	done       chan result
}

type result struct {
	p   *partition
	err error
}

// work reads what it is given until ctx ends.
func (r *run) work(ctx context.Context) {
	w := &reader{files: r.files, h: r.h, topic: r.topic}
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-r.jobs:
			err := w.read(ctx, p)
			select {
			case r.done <- result{p, err}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// serve hands partitions out and takes them back, and looks after those that nobody reads.
func (r *run) serve(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if len(r.fresh) > 0 && r.active == 0 {
			if err := r.assign(); err != nil { // while nobody reads: a handler may take the new list as the end of the old one
				return err
			}
		}
		if !r.files.follow && r.active == 0 && len(r.queue) == 0 {
			return nil
		}
		var jobs chan<- *partition
		var next *partition
		if len(r.queue) > 0 && len(r.fresh) == 0 {
			jobs, next = r.jobs, r.queue[0]
		}
		select {
		case <-ctx.Done():
			return r.finish()
		case jobs <- next:
			r.queue = r.queue[1:]
			r.active++
		case d := <-r.done:
			r.active--
			d.p.busy, d.p.reported = false, time.Now()
			if d.err != nil {
				return d.err
			}
			if f, ok := r.h.(stream.Finisher); ok && !r.files.follow && ctx.Err() == nil {
				f.Finished(stream.Partition{Topic: r.topic, ID: d.p.id})
			}
		case <-ticker.C:
			if err := r.look(ctx); err != nil {
				return err
			}
		}
	}
}

// finish is the end of a run whose context has ended: an error that a worker is about to hand in at the same moment is not lost.
func (r *run) finish() error {
	select {
	case d := <-r.done:
		return d.err
	default:
		return nil
	}
}

// Replayable implements stream.Replayable: a partition is known by the path of its file, and by a checksum of what has been read of it.
func (f *Files) Replayable() {}

// assign makes partitions of the files that have been found.
func (r *run) assign() error {
	for _, path := range r.fresh {
		p := &partition{id: len(r.partitions), path: path, busy: true}
		p.from = r.files.from[p.id]
		if b, ok := r.h.(stream.Beginner); ok {
			next, known, err := b.Begin(stream.Partition{Topic: r.topic, ID: p.id}, stream.Found{ID: path, Committed: -1})
			if err != nil {
				return err
			}
			if known {
				p.from = next
				if p.was, err = was(r.h, stream.Partition{Topic: r.topic, ID: p.id}, path); err != nil {
					return err
				}
			}
		}
		r.partitions = append(r.partitions, p)
		r.queue = append(r.queue, p)
	}
	r.fresh = nil
	all := make([]stream.Partition, len(r.partitions))
	for i := range all {
		all[i] = stream.Partition{Topic: r.topic, ID: i}
	}
	r.h.Assigned(all)
	return nil
}

// look finds what is new, and reports the partitions that have nothing new. A file that waits for its turn is not idle and is not reported.
func (r *run) look(ctx context.Context) error {
	if r.files.follow {
		if err := r.find(); err != nil {
			return err
		}
	}
	for _, p := range r.partitions {
		if p.busy {
			continue
		}
		grown, err := false, error(nil)
		if r.files.follow {
			grown, err = p.look()
		}
		switch {
		case err != nil:
			return err
		case grown:
			p.busy = true
			r.queue = append(r.queue, p)
		case time.Since(p.reported) >= idleEvery-pollEvery/2:
			if err := r.h.Batch(ctx, stream.Batch{Topic: r.topic, Partition: p.id, HighWatermark: p.next}); err != nil {
				return err
			}
			p.reported = time.Now()
		}
	}
	return nil
}

// find adds the files that match and are not known.
func (r *run) find() error {
	paths, err := r.files.find()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if !r.known[path] {
			r.known[path] = true
			r.fresh = append(r.fresh, path)
		}
	}
	return nil
}
