package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// others is how many workspaces with other added modules than the newest's are kept: notebooks that need them alternate.
const others = 4

// sweep removes the workspaces that a new one takes the place of: those with the same modules, of another toolchain or
// version of this program, and of those with other modules all but the latest. What a session uses stays.
func (s *Store) sweep(newest *Workspace) {
	type candidate struct {
		dir  string
		used time.Time
	}
	var kept []candidate
	entries, _ := os.ReadDir(s.folder) // what cannot be listed is not removed
	for _, e := range entries {
		dir := filepath.Join(s.folder, e.Name())
		if !e.IsDir() || dir == newest.Dir || e.Name() == memoryName || e.Name() == "go-build" {
			continue
		}
		m, err := readManifest(dir)
		info, statErr := os.Stat(dir + ".lock")
		if err == nil && statErr == nil && !slices.Equal(m.Modules, newest.Modules) {
			kept = append(kept, candidate{dir, info.ModTime()})
			continue
		}
		remove(dir)
	}
	slices.SortFunc(kept, func(a, b candidate) int { return b.used.Compare(a.used) })
	for i, c := range kept {
		if i >= others {
			remove(c.dir)
		}
	}
	s.forget()
}

// remove removes a workspace that nobody uses or builds.
func remove(dir string) {
	l, err := openLock(dir + ".lock")
	if err != nil {
		return
	}
	defer l.close()
	if ok, err := l.seize(); !ok || err != nil || !l.current() {
		return
	}
	if clear(dir) == nil {
		_ = os.Remove(dir) // what is left is tried again by the next sweep
		_ = os.Remove(dir + ".log")
		_ = os.Remove(dir + ".lock")
	}
}

// forget removes what is remembered of workspaces that have gone.
func (s *Store) forget() {
	entries, _ := os.ReadDir(filepath.Join(s.folder, memoryName))
	for _, e := range entries {
		name := filepath.Join(s.folder, memoryName, e.Name())
		text, err := os.ReadFile(name)
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if _, err := os.Stat(filepath.Join(s.folder, filepath.Base(string(text)))); os.IsNotExist(err) {
			_ = os.Remove(name)
		}
	}
}
