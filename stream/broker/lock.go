package broker

import (
	"fmt"
	"os"
	"path/filepath"

	"cancha/internal/flock"
)

// dirLock keeps a second broker out of a data directory: two writers would interleave their segments. The system lets go of
// it when the process dies, however it dies. A nil dirLock locks nothing.
type dirLock struct{ file *os.File }

// lockDir makes the directory if needed, checks that it can be written and takes it. An empty dir takes nothing.
func lockDir(dir string) (*dirLock, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("broker: make data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("broker: data directory cannot be written: %w", err)
	}
	held, err := flock.Try(f, flock.Exclusive)
	if held {
		return &dirLock{f}, nil
	}
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("broker: data directory: %w", err)
	}
	return nil, fmt.Errorf("broker: data directory %s is in use by another broker: stop it or choose another directory", dir)
}

func (l *dirLock) release() {
	if l != nil {
		_ = flock.Close(l.file) // nothing was written
	}
}
