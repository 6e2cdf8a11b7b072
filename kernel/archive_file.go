package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cancha/internal/flock"
)

// sessionFile is the file to which a session is written. Its lock says that the session's kernel lives.
type sessionFile struct {
	folder  string
	session int
	file    *os.File
	bytes   int64
	records int
	cut     bool // the last line is not whole
}

// Names of a session's files: the one that it writes, and the one before.
const (
	sessionName = "%08d.jsonl"
	olderName   = "%08d.jsonl.1"
)

func createSessionFile(folder string, session int) (*sessionFile, error) {
	path := filepath.Join(folder, fmt.Sprintf(sessionName, session))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	_, _ = flock.Try(f, flock.Exclusive) // of a file that nobody else knows yet; some disks have no locks
	return &sessionFile{folder: folder, session: session, file: f}, nil
}

func (f *sessionFile) close() {
	if f != nil {
		_ = flock.Close(f.file)
	}
}

// write appends a record in one piece.
func (f *sessionFile) write(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if f.cut {
		line = append([]byte("\n"), line...)
	}
	if f.bytes+int64(len(line)) > sessionBytes/2 || f.records >= sessionEntries/2 {
		if err := f.turn(); err != nil {
			return err
		}
	}
	n, err := f.file.Write(line)
	f.bytes += int64(n)
	if n > 0 {
		f.cut = n < len(line)
	}
	if err != nil {
		return fmt.Errorf("write a line of history: %w", err)
	}
	f.records++
	return nil
}

// turn begins another file. What the session wrote before the last one goes.
func (f *sessionFile) turn() error {
	current := filepath.Join(f.folder, fmt.Sprintf(sessionName, f.session))
	err := os.Rename(current, filepath.Join(f.folder, fmt.Sprintf(olderName, f.session)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // that: it was renamed before, and then there was no room for another
		return fmt.Errorf("begin another file: %w", err)
	}
	next, err := createSessionFile(f.folder, f.session)
	if err != nil {
		return fmt.Errorf("begin another file: %w", err)
	}
	f.close()
	*f = *next
	return nil
}
