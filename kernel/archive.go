package kernel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"cancha/internal/flock"
)

// Bounds of an archive. A session that passes half of its own begins a second file, and what the first held before is dropped.
const (
	archiveSessions = 1000
	archiveBytes    = historyBytes // of all sessions
	sessionEntries  = historyEntries
	sessionBytes    = 8 << 20
	backlogRecords  = 4096 // that the disk has not taken yet
	backlogBytes    = 8 << 20
)

// record is a line of a session's file: a cell's input, or the text of its value.
type record struct {
	Line   int     `json:"line"`
	Input  *string `json:"input,omitempty"`
	Output *string `json:"output,omitempty"`
}

// archive keeps the history of all sessions in a folder: a file for each, so that several kernels write beside each other, of JSON
// lines that are written whole, so that whatever ends a kernel damages the last one at most. Who reads skips lines that are none.
//
// One goroutine writes, from the first cell on, and only then has the session a file and with it a number. Nobody waits for it but
// who asks for history, and that not for long: a disk may be slow, full or gone.
type archive struct {
	folder string
	log    *slog.Logger

	backlog  chan record
	held     atomic.Int64  // bytes in backlog
	begun    atomic.Bool   // there was a cell
	numbered chan struct{} // closed when number is set
	number   int           // of this session
	begin    func()        // starts the writer
	end      func()        // has it end
	closed   chan struct{} // closed by end
	ended    chan struct{} // closed when the writer has ended
	faults   sync.Once     // the first fault is logged

	lookups singleflight.Group // of the folder; where the disk hangs, those who ask wait for the same one
	reading sync.Mutex         // orders who reads the files of others
	cache   map[string]archived
}

// archived is what a file held when it was read.
type archived struct {
	size    int64
	entries []entry
}

func newArchive(folder string, log *slog.Logger) *archive {
	a := &archive{
		folder: folder, log: log, cache: map[string]archived{},
		backlog: make(chan record, backlogRecords), numbered: make(chan struct{}),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	a.begin = sync.OnceFunc(func() { go a.run() })
	a.end = sync.OnceFunc(func() { close(a.closed) })
	return a
}

// write has a record written. Where the disk is too slow the record is left out.
func (a *archive) write(r record) {
	a.begun.Store(true)
	a.begin()
	size := int64(r.size())
	if held := a.held.Add(size); held > backlogBytes && held > size { // a large one passes alone
		a.held.Add(-size)
		a.fault(errors.New("the disk is too slow"))
		return
	}
	select {
	case a.backlog <- r:
	default:
		a.held.Add(-size)
		a.fault(errors.New("the disk is too slow"))
	}
}

func (r record) size() (n int) {
	for _, s := range []*string{r.Input, r.Output} {
		if s != nil {
			n += len(*s)
		}
	}
	return n
}

// close ends the writer when it has written all, and returns then, unless the disk is too slow.
func (a *archive) close() {
	a.end()
	if !a.begun.Load() {
		return
	}
	select {
	case <-a.ended:
	case <-time.After(leaveLimit):
		a.fault(errors.New("the disk is too slow"))
	}
}

// fault logs what is wrong, once: it will be the same with the next cell.
func (a *archive) fault(err error) {
	a.faults.Do(func() { a.log.Warn("history is not kept", "folder", a.folder, "error", err) })
}

// run writes until the archive is closed, and then what is left.
func (a *archive) run() {
	defer close(a.ended)
	var f *sessionFile
	defer func() { f.close() }()
	for {
		select {
		case r := <-a.backlog:
			f = a.put(f, r)
			continue
		case <-a.closed:
		}
		for len(a.backlog) > 0 {
			f = a.put(f, <-a.backlog)
		}
		return
	}
}

// put writes a record to the session's file, which it makes for the first, and returns the file.
func (a *archive) put(f *sessionFile, r record) *sessionFile {
	a.held.Add(-int64(r.size()))
	if f == nil {
		var err error
		if f, err = a.open(); err != nil {
			a.fault(err)
			return nil
		}
		a.sweep()
	}
	if err := f.write(r); err != nil {
		a.fault(err)
	}
	return f
}

// open makes the session's file, under the first number that is free, and tells the number. Where none can be made the session has
// the number that it would have got.
func (a *archive) open() (*sessionFile, error) {
	first := !isClosed(a.numbered)
	if err := os.MkdirAll(a.folder, 0o700); err != nil {
		return nil, a.unnumbered(first, err)
	}
	number := a.next()
	if !first {
		number = a.number // the disk works again
	}
	for {
		f, err := createSessionFile(a.folder, number)
		if errors.Is(err, fs.ErrExist) && first {
			number++ // another kernel was faster
			continue
		}
		if err != nil {
			return nil, a.unnumbered(first, err)
		}
		if first {
			a.number = number
			close(a.numbered)
		}
		return f, nil
	}
}

func (a *archive) unnumbered(first bool, err error) error {
	if first {
		a.number = a.next()
		close(a.numbered)
	}
	return fmt.Errorf("make a file for this session: %w", err)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// next is the number after the last session's.
func (a *archive) next() int {
	if files := a.files(); len(files) > 0 {
		return files[0].session + 1
	}
	return 1
}

// session returns this session's number; before its first cell, and where the disk takes longer than limit, the number that it
// would get.
func (a *archive) session(limit time.Duration) int {
	if isClosed(a.numbered) {
		return a.number
	}
	select {
	case <-a.numbered:
		return a.number
	case next := <-a.lookups.DoChan("next", func() (any, error) { return a.next(), nil }):
		if !a.begun.Load() {
			return next.Val.(int)
		}
	case <-time.After(limit):
		return 1
	}
	select {
	case <-a.numbered:
		return a.number
	case <-time.After(limit):
		return 1
	}
}

// others returns the entries of the other sessions in the order of their numbers; none where the disk takes longer than limit.
func (a *archive) others(session int, limit time.Duration) []entry {
	select {
	case found := <-a.lookups.DoChan("read", func() (any, error) { return a.read(session), nil }):
		return slices.Clip(found.Val.([]entry)) // others may have the same one: who adds to it gets a copy
	case <-time.After(limit):
		a.fault(errors.New("the disk is too slow"))
		return nil
	}
}

// read reads what has changed since the last time, newest first, as much as the bounds allow.
func (a *archive) read(session int) []entry {
	a.reading.Lock()
	defer a.reading.Unlock()
	seen := map[string]archived{}
	var bytes int64
	var entries int
	var files []archivedFile
	for _, f := range a.files() {
		if f.session == session {
			continue
		}
		if bytes += f.size; bytes > archiveBytes || entries > historyEntries {
			break
		}
		known, ok := a.cache[f.path]
		if !ok || known.size != f.size {
			known = archived{f.size, readSession(f)}
		}
		seen[f.path] = known
		entries += len(known.entries)
		files = append(files, f)
	}
	a.cache = seen
	all := make([]entry, 0, entries)
	for _, f := range slices.Backward(files) {
		all = append(all, seen[f.path].entries...)
	}
	return all
}

// archivedFile is a file of the archive.
type archivedFile struct {
	path    string
	session int
	older   bool // the first of a session's two files
	size    int64
}

// files are the files of the archive, newest first.
func (a *archive) files() []archivedFile {
	list, err := os.ReadDir(a.folder)
	if err != nil {
		return nil
	}
	var files []archivedFile
	for _, e := range list {
		f := archivedFile{path: filepath.Join(a.folder, e.Name())}
		if n, err := fmt.Sscanf(e.Name(), sessionName, &f.session); n != 1 || err != nil || f.session < 1 {
			continue
		}
		switch e.Name() {
		case fmt.Sprintf(sessionName, f.session):
		case fmt.Sprintf(olderName, f.session):
			f.older = true
		default:
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			f.size = info.Size()
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b archivedFile) int {
		return cmp.Or(cmp.Compare(b.session, a.session), cmp.Compare(a.path, b.path))
	})
	return files
}

// readSession returns the entries of a file. What is no record, such as a line that a kernel's death has cut, is skipped.
func readSession(f archivedFile) (entries []entry) {
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return nil
	}
	at := map[int]int{} // line → its place in entries
	for line := range bytes.Lines(raw) {
		var r record
		if json.Unmarshal(line, &r) != nil || r.Line < 1 {
			continue
		}
		if r.Input != nil {
			at[r.Line] = len(entries)
			entries = append(entries, entry{session: f.session, line: r.Line, input: *r.Input})
		}
		if i, ok := at[r.Line]; ok && r.Output != nil {
			entries[i].output = *r.Output
		}
	}
	return entries
}

// sweep removes the oldest sessions beyond the bounds. One whose kernel lives is left.
func (a *archive) sweep() {
	var bytes int64
	for i, f := range a.files() {
		if bytes += f.size; i < archiveSessions && bytes <= archiveBytes {
			continue
		}
		if file, err := os.Open(f.path); err == nil {
			if ended, err := flock.Try(file, flock.Exclusive); ended && err == nil {
				_ = os.Remove(f.path)
			}
			_ = flock.Close(file)
		}
	}
}
