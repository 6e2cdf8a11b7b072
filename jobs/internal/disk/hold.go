package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cancha/internal/flock"
	"cancha/jobs/queue"
)

// ErrHeld tells that another process has the folder open.
var ErrHeld = errors.New("another process has it open")

// ErrLost tells that a folder that was held is another one now.
var ErrLost = errors.New("the folder was moved or removed while it was in use")

// Hold is the right to use a folder. The system takes it back when the process ends, however it does. It is a lock beside bbolt's own,
// which is let go for a moment when the file is opened anew after a failed commit.
type Hold struct{ file *os.File }

// holder is what stands in the file of a hold.
type holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// TakeHold takes it, or returns ErrHeld and says who has it.
func TakeHold(folder string) (*Hold, error) {
	folder, err := filepath.Abs(folder) // the process may go to another folder
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := flock.Try(f, flock.Exclusive)
	if err == nil && !held {
		return nil, errors.Join(fmt.Errorf("%s: %w", holderIn(f), ErrHeld), f.Close())
	}
	if err == nil {
		err = full(writeHolder(f))
	}
	if err != nil && !errors.Is(err, queue.ErrFull) { // a full disk can be emptied, whoever does it
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), flock.Close(f))
	}
	return &Hold{f}, nil
}

func writeHolder(f *os.File) error {
	text, err := json.Marshal(holder{os.Getpid(), time.Now().Round(time.Second)})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return err
}

// holderIn says who holds; the text may be half written, or gone.
func holderIn(f *os.File) string {
	var h holder
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1024))
	if err != nil || json.Unmarshal(text, &h) != nil || h.PID == 0 {
		return "held by an unknown process"
	}
	return fmt.Sprintf("held by process %d since %s", h.PID, h.Since.Format(time.DateTime))
}

// Check tells whether the folder is still the one of which this is the hold. It is not where somebody has moved or removed it: the system
// lets another process take hold of a new one of that name, and what is written to the old one is lost.
func (h *Hold) Check() error {
	mine, err := h.file.Stat()
	if err != nil {
		return err
	}
	return same(h.file.Name(), mine)
}

// same tells whether a path leads to the file that it led to.
func same(path string, opened os.FileInfo) error {
	there, err := os.Stat(path)
	if err == nil && os.SameFile(opened, there) {
		return nil
	}
	return fmt.Errorf("%s is another file than when it was opened, or gone: %w", path, errors.Join(ErrLost, err))
}

// Release gives it back.
func (h *Hold) Release() error { return flock.Close(h.file) }
