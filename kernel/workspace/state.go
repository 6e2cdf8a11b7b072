package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// State is how things stand with the workspace of the engine's own modules. Fields that could not be found out are zero.
type State struct {
	GoVersion string // of the toolchain, such as go1.26.8
	Root      string // where that is
	Compiler  string // what the C compiler says of itself
	Dir       string // of the workspace
	Size      int64  // of it, in bytes; compiled packages may be shared with Go's cache
	Err       error  // why there is no whole one: an *Obstacle, ErrNone, or what is damaged
}

// Mend gives up a workspace whose files are not what was built; Ensure then builds it again. Find notices files that are missing or have
// another size, Mend reads them all, which takes about a second.
func (s *Store) Mend(ctx context.Context) {
	state := s.State(ctx)
	if !errors.Is(state.Err, errDamaged) {
		return
	}
	l, err := openLock(state.Dir + ".lock")
	if err != nil {
		return
	}
	defer l.close()
	if ok, err := l.seize(); ok && err == nil {
		_ = os.Remove(filepath.Join(state.Dir, manifestName)) // if it cannot be removed Ensure says why
	}
}

// State looks at everything anew, and reads every file of the workspace that cells need.
func (s *Store) State(ctx context.Context) State {
	p, err := s.plan(ctx, nil)
	state := State{GoVersion: p.tools.version, Root: p.tools.root, Compiler: p.cc.version, Err: err}
	if err != nil {
		return state
	}
	for n := range generations {
		dir := s.place(p.key, n)
		_, c, err := whole(dir)
		if err == nil {
			err = intact(dir, c)
		}
		if err == nil || errors.Is(err, errDamaged) {
			state.Dir, state.Size, state.Err = dir, c.Size, err
			return state
		}
	}
	state.Err = ErrNone
	return state
}
