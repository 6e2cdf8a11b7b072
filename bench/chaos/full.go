package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cancha/stream/checkpoint"
)

// limitFiles lets no file of this process grow beyond so many bytes: the write that would is cut off there. That is a full disk for a process alone,
// which takes no rights; the error is another one.
func limitFiles(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ) // which would end the process
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes})
}

// mostOnFull is how long a query may go on when its disk is full: until the next snapshot.
const mostOnFull = 20 * time.Second

// fill fills the disk under a process, all but so many bytes, and makes room again when the process has ended.
func (t *trial) fill(p *process, bytes int64) error {
	if err := t.disk.leave(bytes); err != nil {
		return err
	}
	p.lives(mostOnFull)
	return t.disk.widen()
}

// complains wants a process that a full disk has ended to say so, its newest snapshot to be whole, and nothing half written to be left
// behind that was not there before.
func (t *trial) complains(p *process, litter int) error {
	words := []string{"file too large", t.Folder}
	if t.disk != nil {
		words = []string{"no space left on device", t.Folder, "make room"}
	}
	for _, word := range words {
		if !strings.Contains(p.said.String(), word) {
			return fmt.Errorf("it does not say %q: %w", word, p.wait())
		}
	}
	if t.members > 1 {
		return nil // others are at it
	}
	state, err := checkpoint.Load(context.Background(), checkpoint.Folder(t.snapshots()), checkpoint.Whole)
	if err == nil && state != nil && len(state.Notes) > 0 {
		err = errors.New(strings.Join(state.Notes, " "))
	}
	if err == nil && t.litter() > litter {
		err = fmt.Errorf("files that are not whole are left behind in %s", t.Folder)
	}
	return err
}

// litter counts files that somebody has not written to their ends.
func (t *trial) litter() int {
	snapshots, _ := filepath.Glob(filepath.Join(t.snapshots(), "*", "writing-*"))
	epochs, _ := filepath.Glob(filepath.Join(t.Folder, "rows", ".*.partial"))
	return len(snapshots) + len(epochs)
}
