package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Names within a workspace's folder.
const (
	manifestName  = "workspace.json"
	contentsName  = "contents.json"
	importcfgName = "importcfg"
	sourcesName   = "src"
	modulesName   = "modules"
	packagesName  = "pkg"
	cellsName     = "cells"
	engineName    = "bin/cancha"
)

// Manifest is what workspace.json says: all that compiling a cell for the workspace's engine takes. Paths are absolute.
type Manifest struct {
	GoVersion string `json:"goVersion"` // as runtime.Version, such as go1.26.8
	Compile   string `json:"compile"`   // the compiler
	Link      string `json:"link"`      // the linker
	CC        string `json:"cc"`        // the C compiler that links for it: a path, and arguments after blanks
	Importcfg string `json:"importcfg"` // file: every package that the engine is linked from or cells may import
	// Env are the variables, as NAME=VALUE, under which engine and packages were built and cells must be. An empty value stands
	// for a variable that is not set. Open adds those of the process that have no say in what is built.
	Env     []string `json:"env"`
	Cache   string   `json:"cache"` // folder for built cells
	Modules []Module `json:"modules"`
	// Replaced are modules that others are compiled in the place of, because a local module says so.
	Replaced []string `json:"replaced,omitempty"`
	Race     bool     `json:"race"` // never: an engine with the race detector loads no plain plugin
}

// Module is a module added to an engine's own, in a version such as v1.6.0. Dir, if set, is a local folder that it is read
// from instead; its version is then "".
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Dir     string `json:"dir,omitempty"`
}

// Open reads the description of the workspace in a folder, as the engine that was built there does. Env is then the whole environment for
// compiler and linker. Where the folder for built cells cannot be written, as in an image that was made by somebody else, Cache is one of
// the system's temporary ones.
func Open(dir string) (Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return m, err
	}
	m.Env = replace(os.Environ(), m.Env...)
	if !writable(m.Cache) {
		if m.Cache, err = ownTemporary(filepath.Base(dir)); err != nil {
			return m, fmt.Errorf("make a folder for built cells: %w", err)
		}
	}
	return m, nil
}

// ownTemporary makes a folder among the system's temporary ones that nobody else can write: what lies in it is loaded.
func ownTemporary(name string) (string, error) {
	dir := filepath.Join(os.TempDir(), "cancha-cells-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(owner.Uid) != os.Getuid() {
		return os.MkdirTemp("", "cancha-cells-") // somebody else's, or open to others
	}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

func readManifest(dir string) (m Manifest, err error) {
	if err := readJSON(filepath.Join(dir, manifestName), &m); err != nil {
		return m, fmt.Errorf("read workspace: %w", err)
	}
	if m.Importcfg != filepath.Join(dir, importcfgName) {
		return m, fmt.Errorf("read workspace: %s describes another folder", filepath.Join(dir, manifestName))
	}
	return m, nil
}

func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writeJSON writes a file whole or not at all.
func writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(name, append(text, '\n'))
}

func writeWhole(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
