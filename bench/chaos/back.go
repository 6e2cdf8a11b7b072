package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// back is what trials have kept of older snapshots: copies of the checkpoint's folder, as savepoints and backups are.
type back struct{ saved []string }

// goBack kills a process, keeps a copy of its snapshots, and has a process go on from one of those that were kept before, which may be
// older, or of another way that the query has gone. One that is refused changes nothing: the query goes on from where it was.
func (t *trial) goBack(p *process, f fault) error {
	p.kill()
	if _, err := os.Stat(t.snapshots()); errors.Is(err, fs.ErrNotExist) {
		return nil // it was killed before its first snapshot
	}
	now := fmt.Sprintf("%s-saved-%d", t.Folder, len(t.saved))
	if err := os.CopyFS(now, os.DirFS(t.snapshots())); err != nil {
		return err
	}
	t.saved = append(t.saved, now)
	if err := t.restore(t.saved[f.seed%uint64(len(t.saved))]); err != nil {
		return err
	}
	before := t.newest()
	from, err := t.start(t.role)
	if err != nil {
		return err
	}
	defer from.kill()
	for from.lives(10*time.Millisecond) && t.newest() == before { // its first snapshot says that it goes on
	}
	if from.lives(f.life) || from.err == nil {
		return nil
	}
	if !strings.Contains(from.said.String(), "write to another") {
		return from.wait()
	}
	return t.restore(now)
}

// restore puts a copy in place of the snapshots.
func (t *trial) restore(from string) error {
	return errors.Join(os.RemoveAll(t.snapshots()), os.CopyFS(t.snapshots(), os.DirFS(from)))
}

// newest is the file of the newest snapshot; empty: there is none.
func (t *trial) newest() string {
	snapshots, _ := filepath.Glob(filepath.Join(t.snapshots(), "*", "*.snapshot"))
	if len(snapshots) == 0 {
		return ""
	}
	return slices.Max(snapshots)
}
