package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Config says what engines are built from, and where. Sources, Program and Version are needed.
type Config struct {
	Sources  fs.FS           // a module, with its go.mod at the root
	Program  string          // the engine's package in it, such as ./cmd/cancha
	Packages func() []string // paths that cells may import, be the engine made of them or not; nil is none
	Version  string          // of this program
	Tags     []string        // build tags of the engine, beside the workspace's own
	Flags    CFlags          // for the C files of the engine's packages

	Folder  string   // where workspaces are; default cancha/engines in the user's cache folder
	Environ []string // default the process's
	Places  []string // patterns of go commands beside GOROOT and PATH; default the usual ones
	Python  string   // the Python environment whose packages may bring a toolchain; default the one that this program lies in
}

// CFlags are flags for cgo, as in CGO_CFLAGS and CGO_LDFLAGS; empty ones are Go's own.
type CFlags struct{ Compile, Link string }

// Store keeps the workspaces of one folder. Its methods may be called by any goroutine, and by any number of processes.
type Store struct {
	sources  fs.FS
	program  string
	packages func() []string
	version  string
	tags     string
	flags    CFlags
	folder   string
	lost     error // why there is no folder
	environ  []string
	places   []string
	python   string
	sum      func() (string, error) // of the sources; taken once
}

// New returns a store. It touches no file.
func New(c Config) *Store {
	s := &Store{
		sources: c.Sources, program: c.Program, packages: c.Packages, version: c.Version,
		tags: strings.Join(append([]string{ownTag}, c.Tags...), ","), flags: c.Flags,
		folder: c.Folder, environ: c.Environ, places: c.Places, python: c.Python,
	}
	if s.packages == nil {
		s.packages = func() []string { return nil }
	}
	if s.environ == nil {
		s.environ = os.Environ()
	}
	if s.python == "" {
		s.python = OwnPython()
	}
	if s.places == nil {
		s.places = usualPlaces(get(s.environ, "HOME"))
	}
	if s.folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			s.lost = obstacle(err, "set HOME"+again, "there is no cache folder to keep the engine in that compiles cells (%v)", err)
		}
		s.folder = filepath.Join(cache, "cancha", "engines")
	}
	s.sum = sync.OnceValues(func() (string, error) {
		sum, err := sumOf(s.sources)
		if err != nil {
			err = fmt.Errorf("hash the engine's sources: %w", err)
		}
		return sum, err
	})
	return s
}

// sumOf hashes a module's tree: names and contents of what the go command may read, so neither links nor modules within it.
func sumOf(tree fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == ".git" || isModule(tree, name)):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		fmt.Fprintf(h, "%q %d\n", name, len(text))
		_, _ = h.Write(text) // a hash takes all
		return err
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func isModule(tree fs.FS, dir string) bool {
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

// plan is a workspace that is to be: all that decides its key.
type plan struct {
	tags    string // with commas
	tools   toolchain
	cc      compiler
	modules []Module
	key     string
}

// ownTag is the build tag that every engine has: its file that loads plugins is left out of every other build.
const ownTag = "workspace"

// layout is raised when a workspace's folder changes its form.
const layout = 2

var goLine = regexp.MustCompile(`(?m)^go (\S+)`)

// plan finds toolchain and compiler and decides the key.
func (s *Store) plan(ctx context.Context, modules []Module) (plan, error) {
	p := plan{modules: modules, tags: s.tags}
	if s.lost != nil {
		return p, s.lost
	}
	mod, err := fs.ReadFile(s.sources, "go.mod")
	if err != nil {
		return p, fmt.Errorf("read the engine's sources: %w", err)
	}
	least := goLine.FindSubmatch(mod)
	if least == nil {
		return p, errors.New("the engine's go.mod names no version of Go")
	}
	if p.tools, err = s.findToolchain(ctx, "go"+string(least[1])); err != nil {
		return p, err
	}
	if p.cc, err = s.findCompiler(ctx, p.tools); err != nil {
		return p, err
	}
	p.key, err = s.key(p)
	return p, err
}

// key hashes what a workspace is made of.
func (s *Store) key(p plan) (string, error) {
	sum, err := s.sum()
	if err != nil {
		return "", err
	}
	local, err := s.sums(p.modules)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{
		layout, s.version, sum, s.program, s.packages(), p.flags("build"), p.tools.version, p.tools.fixed(p.cc), p.cc.version, p.modules, local,
	})
	if err != nil {
		return "", err
	}
	return short(text), nil
}

func short(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:10])
}

// writeTree writes a tree of files below a folder.
func writeTree(tree fs.FS, dir string) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		target := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		}
		return copyOut(tree, name, target)
	})
}

func copyOut(tree fs.FS, name, target string) error {
	in, err := tree.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
