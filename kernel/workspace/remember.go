package workspace

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// To ask a go command and a C compiler who they are takes some 50 ms, and to hash the sources ten. So it is remembered which
// workspace they led to, under a hash of all that the answers depend on: files by size and time of change, variables by value.

const memoryName = "known"

// remembered returns the workspace that the same circumstances have led to, nil if none or not whole.
func (s *Store) remembered(modules []Module) *Workspace {
	name, err := s.circumstances(modules)
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return s.use(filepath.Join(s.folder, filepath.Base(string(text))))
}

// remember notes it; where it cannot be written the next session asks again.
func (s *Store) remember(modules []Module, dir string) {
	name, err := s.circumstances(modules)
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(name), 0o755) == nil {
		_ = writeWhole(name, []byte(filepath.Base(dir))) // at worst it is asked again
	}
}

// circumstances names the file for what decides a workspace as far as a glance tells.
func (s *Store) circumstances(modules []Module) (string, error) {
	if s.lost != nil {
		return "", s.lost
	}
	h := sha256.New()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	files := []string{self}
	for _, name := range s.candidates() {
		files = append(files, name, filepath.Join(filepath.Dir(filepath.Dir(name)), "VERSION"))
	}
	for _, name := range []string{get(s.environ, "CC"), "gcc", "clang", "cc"} {
		files = append(files, s.lookPath(name))
	}
	files = append(files, s.settings())
	for _, name := range files {
		fmt.Fprintf(h, "%q %s\n", name, stamp(name))
	}
	for _, name := range []string{"GOROOT", "GOTOOLCHAIN", "GOENV", "CC"} {
		fmt.Fprintf(h, "%s=%q\n", name, get(s.environ, name))
	}
	local, err := s.sums(modules)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(h).Encode([]any{layout, s.version, s.program, s.tags, s.flags, modules, local}); err != nil {
		return "", err
	}
	return filepath.Join(s.folder, memoryName, fmt.Sprintf("%x", h.Sum(nil)[:10])), nil
}

// settings is the file of "go env -w", which may choose a toolchain or a C compiler.
func (s *Store) settings() string {
	switch name := get(s.environ, "GOENV"); name {
	case "":
	case "off":
		return ""
	default:
		return name
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "go", "env")
}

func stamp(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return "none"
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}
