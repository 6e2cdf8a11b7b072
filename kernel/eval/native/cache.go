package native

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"cancha/internal/flock"
)

// Built cells are kept, so that a notebook that is run again need not wait for them. A plugin takes 3 to 40 MB, so their folder has a
// limit: the cells that have not been used for the longest time are removed. What a running engine has used stays, since the engine may
// link with it again. In the folder:
//
//	HASH          a built cell; its time is that of its last use
//	new-…, old-…  one that is being built, one that is being removed
//	engine-…      locked by an engine for as long as it lives; its time is that of the engine's start
//	lock          shared while an engine looks for a cell, exclusive while cells are taken out

// maxCells bounds the folder in bytes; a tenth of what the disk has to offer is the other bound.
const maxCells = 1 << 30

const (
	beingBuilt   = "new-"
	beingRemoved = "old-"
	engineMark   = "engine-"
	cellsLock    = "lock"
)

// Cells is a running engine's share in a folder of built cells: what it uses there is not removed before Close.
type Cells struct {
	folder string
	mark   *os.File // nil where the folder cannot be written: then nobody removes anything from it either
	cancel context.CancelFunc
	sweep  sync.WaitGroup
}

// OpenCells takes a share in a folder of built cells, and begins to remove, in the background, what exceeds the folder's limit.
func OpenCells(folder string) *Cells {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Cells{folder: folder, cancel: cancel}
	mark, err := os.CreateTemp(folder, engineMark)
	if err != nil {
		return c
	}
	c.mark = mark
	if locked, err := flock.Try(mark, flock.Exclusive); !locked || err != nil {
		return c // a file system without locks: nothing is removed
	}
	c.sweep.Go(func() { sweepCells(ctx, folder, min(maxCells, disk(folder)/10)) })
	return c
}

// Close gives the share back.
func (c *Cells) Close() {
	c.cancel()
	c.sweep.Wait()
	if c.mark != nil {
		_ = os.Remove(c.mark.Name())
		_ = flock.Close(c.mark) // nothing was written
	}
}

// kept tells whether a unit has been built, and counts that as its use.
func (t *Toolchain) kept(u *Unit) bool {
	if lock, err := os.OpenFile(filepath.Join(t.Cache, cellsLock), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		defer flock.Close(lock)
		_ = flock.Wait(lock, flock.Shared) // without locks nothing is removed
	}
	if _, err := os.Stat(t.plugin(u)); err != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Dir(t.plugin(u)), now, now) // one that may only be read is not removed either
	return true
}

// builtCell is a folder of a built cell, or of what is left of one.
type builtCell struct {
	name string
	used time.Time
	size int64
}

// sweepCells removes the cells that were used longest ago, until the folder takes no more than limit bytes, and what crashed
// engines have left. What was used since the oldest running engine began is left alone.
func sweepCells(ctx context.Context, folder string, limit int64) {
	cells := builtCells(ctx, folder)
	lock, err := os.OpenFile(filepath.Join(folder, cellsLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return
	}
	if err := flock.Wait(lock, flock.Exclusive); err != nil || ctx.Err() != nil {
		_ = flock.Close(lock)
		return
	}
	out := takeOut(folder, cells, oldestEngine(folder), limit)
	_ = flock.Close(lock) // what has another name now is nobody's
	for _, name := range out {
		_ = os.RemoveAll(name) // what is left is tried again by the next engine
	}
}

// takeOut renames what is to be removed, and returns the new names.
func takeOut(folder string, cells []builtCell, since time.Time, limit int64) (out []string) {
	total := int64(0)
	for _, c := range cells {
		total += c.size
	}
	slices.SortFunc(cells, func(a, b builtCell) int { return a.used.Compare(b.used) })
	for _, c := range cells {
		from := filepath.Join(folder, c.name)
		info, err := os.Stat(from)
		leftOver := strings.HasPrefix(c.name, beingBuilt) || strings.HasPrefix(c.name, beingRemoved)
		if err != nil || !info.ModTime().Before(since) || !leftOver && total <= limit {
			continue
		}
		to := from
		if !leftOver {
			to = filepath.Join(folder, beingRemoved+c.name)
		}
		if to == from || os.Rename(from, to) == nil {
			out = append(out, to)
			total -= c.size
		}
	}
	return out
}

// builtCells lists a folder, with sizes.
func builtCells(ctx context.Context, folder string) (cells []builtCell) {
	entries, _ := os.ReadDir(folder) // what cannot be listed is not removed
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || ctx.Err() != nil {
			continue
		}
		c := builtCell{name: e.Name(), used: info.ModTime()}
		files, _ := os.ReadDir(filepath.Join(folder, e.Name()))
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				c.size += info.Size()
			}
		}
		cells = append(cells, c)
	}
	return cells
}

// oldestEngine is when the oldest of the running engines began; the marks of those that have ended are removed.
func oldestEngine(folder string) time.Time {
	oldest := time.Now()
	marks, _ := filepath.Glob(filepath.Join(folder, engineMark+"*")) // the pattern is fine
	for _, name := range marks {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return time.Time{} // somebody else's: remove nothing
		}
		info, err := f.Stat()
		ended, lockErr := flock.Try(f, flock.Exclusive)
		switch {
		case err != nil || lockErr != nil:
			oldest = time.Time{}
		case ended && time.Since(info.ModTime()) > time.Minute: // or one that is about to lock it
			_ = os.Remove(name)
		case info.ModTime().Before(oldest):
			oldest = info.ModTime()
		}
		_ = flock.Close(f)
	}
	return oldest
}

// disk is how many bytes may still be written where a folder is.
func disk(folder string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0
	}
	return int64(min(uint64(s.Bavail)*uint64(s.Bsize), 1<<60))
}
