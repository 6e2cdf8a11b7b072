package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNone is returned by Find where a workspace could be built and is not.
var ErrNone = errors.New("the engine that compiles cells has not been built")

// Workspace is a whole workspace in use: it is neither rebuilt nor removed before Close, nor before the process ends.
type Workspace struct {
	Manifest
	Dir  string
	lock *lock
}

// Engine is the program that loads cells which were compiled for this workspace.
func (w *Workspace) Engine() string { return filepath.Join(w.Dir, filepath.FromSlash(engineName)) }

// Close lets go of the workspace.
func (w *Workspace) Close() { w.lock.close() }

// Find returns the workspace for some added modules if it is whole, ErrNone if it could be built, an *Obstacle if it
// cannot. It builds nothing.
func (s *Store) Find(ctx context.Context, modules []Module) (*Workspace, error) {
	w, _, err := s.find(ctx, modules)
	return w, err
}

// find also returns how it would be built, with ErrNone.
func (s *Store) find(ctx context.Context, modules []Module) (*Workspace, plan, error) {
	if w := s.remembered(modules); w != nil {
		return w, plan{}, nil
	}
	p, err := s.plan(ctx, modules)
	if err != nil {
		return nil, p, err
	}
	for n := range generations {
		dir := s.place(p.key, n)
		if _, err := os.Stat(filepath.Join(dir, manifestName)); err != nil {
			continue
		}
		if w := s.use(dir); w != nil {
			s.remember(modules, dir)
			return w, p, nil
		}
	}
	return nil, p, ErrNone
}

// Ensure returns the workspace for some added modules and builds it if it is not whole; say is told how far that is, a line
// at a time, from any goroutine. Another process that builds it is waited for. An *Obstacle says why there can be none.
func (s *Store) Ensure(ctx context.Context, modules []Module, say func(line string)) (*Workspace, error) {
	w, p, err := s.find(ctx, modules)
	if !errors.Is(err, ErrNone) {
		return w, err
	}
	if err := os.MkdirAll(s.folder, 0o755); err != nil {
		return nil, storage(s.folder, err)
	}
	for n := range generations {
		var w *Workspace
		dir := s.place(p.key, n)
		err := claim(ctx, dir, func() bool { w = s.use(dir); return w != nil }, func(l *lock) error { return s.make(ctx, p, dir, l, say) }, say)
		if errors.Is(err, errTaken) {
			continue
		}
		if err == nil {
			s.remember(modules, w.Dir)
			s.sweep(w)
		}
		return w, err
	}
	return nil, obstacle(nil, "close all notebooks"+again, "the engine that compiles cells is damaged, and sessions use it")
}

// generations is how many folders a key may have: one that is damaged cannot be rebuilt while a session uses it, so the next
// is taken.
const generations = 3

func (s *Store) place(key string, n int) string {
	if n > 0 {
		key = fmt.Sprintf("%s-%d", key, n)
	}
	return filepath.Join(s.folder, key)
}

// use takes the workspace in dir if it is whole and nobody builds it.
func (s *Store) use(dir string) *Workspace {
	l, err := openLock(dir + ".lock")
	if err != nil {
		return nil
	}
	if ok, err := l.share(); ok && err == nil && l.current() {
		if m, _, err := whole(dir); err == nil {
			now := time.Now()
			_ = os.Chtimes(dir+".lock", now, now) // by which the latest used are known; one that can only be read is not swept
			return &Workspace{Manifest: m, Dir: dir, lock: l}
		}
	}
	l.close()
	return nil
}

// errTaken: a workspace or an extension is damaged and in use.
var errTaken = errors.New("damaged and in use")

// poll is how often a lock is tried that another process has: waiting for a lock of a file cannot be ended by a context.
const poll = 100 * time.Millisecond

// patience is how often in a row a damaged folder may be found in use before it is taken to be used for long: processes
// that start together share the lock for a moment each.
const patience = 20

// claim uses the folder dir, makes it under its lock, or waits for who does; errTaken if it is damaged and in use.
func claim(ctx context.Context, dir string, use func() bool, make func(*lock) error, say func(string)) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	shared := 0
	for !use() {
		l, err := openLock(dir + ".lock")
		if err != nil {
			return storage(filepath.Dir(dir), err)
		}
		seized, err := l.seize()
		if err != nil {
			l.close()
			return storage(filepath.Dir(dir), err)
		}
		if seized && l.current() {
			err := make(l)
			l.close() // between this and use another process may rebuild or remove it: then it is gone about again
			if err != nil {
				return err
			}
			continue
		}
		used, _ := l.share()
		l.close()
		if used {
			if shared++; shared > patience {
				return errTaken
			}
		} else {
			shared = 0
			say(waiting(dir))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// waiting tells what another process has told of its build.
func waiting(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, progressName)) // it may not have been written yet
	return "waiting for another session: " + strings.TrimSpace(string(text))
}
