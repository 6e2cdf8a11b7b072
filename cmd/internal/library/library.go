// Package library writes the rooms that cells may import beside a Go module, so that a program can import them too: Cancha has no address from
// which the go command could fetch them. It knows files, and leaves go.mod to the go command.
package library

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Folder is what the rooms' folder is called, below the module's.
const Folder = "cancha"

// mark is the file of that folder by which an edit is seen: a sum of all others.
const mark = ".written"

// Write writes the rooms into the folder of a module, and has the module's go.mod require them there. What an older program has written is replaced. It is
// an error where there is no go.mod, in the library itself, and where the folder has files that Write has not written, or that were changed since.
func Write(sources fs.FS, module string) error {
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no go.mod in %s: begin a module there with \"go mod init example.com/NAME\"", module)
	case err != nil:
		return err
	case strings.HasPrefix(string(text), "module cancha\n"):
		return fmt.Errorf("%s is the library itself, and needs no copy of it", module)
	}
	to := filepath.Join(module, Folder)
	if err := own(to); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(module, "."+Folder+"-") // beside it, so that a rename puts it there
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := fill(fresh, sources); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Rename(fresh, to); err != nil {
		return err
	}
	return require(module)
}

// own refuses a folder that Write may not replace.
func own(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	said, err := os.ReadFile(filepath.Join(dir, mark))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there, and the library was not written there: move it away", dir)
	}
	if err != nil {
		return err
	}
	is, err := sum(dir)
	if err != nil {
		return err
	}
	if is != string(said) {
		return fmt.Errorf("%s has been changed since the library was written there: move it away, or your changes would be lost", dir)
	}
	return nil
}

// fill writes the rooms and the mark.
func fill(dir string, sources fs.FS) error {
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !wanted(name, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755)
		}
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text, 0o644)
	})
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // a temporary folder is its user's alone
		return err
	}
	is, err := sum(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, mark), []byte(is), 0o644)
}

// wanted tells whether a name of the program's sources is the library's: no command, no kernel, and none of the tables that a kernel has of it.
func wanted(name string, folder bool) bool {
	switch top, _, _ := strings.Cut(name, "/"); top {
	case "cmd", "kernel", "jupyter":
		return false
	}
	if !folder && path.Dir(name) == "." {
		return name == "go.mod" || name == "go.sum" || name == "LICENSE"
	}
	return name != "internal/symbols"
}

// sum is a hash of all files below a folder, the mark aside.
func sum(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		within, err := filepath.Rel(dir, name)
		if err != nil || within == mark {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(h, "%q\n", filepath.ToSlash(within))
		n, err := io.Copy(h, f)
		fmt.Fprintln(h, n)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// require has go.mod say where the library is.
func require(module string) error {
	edit := exec.Command("go", "mod", "edit", "-require=cancha@v0.0.0", "-replace=cancha=./"+Folder)
	edit.Dir = module
	out, err := edit.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("there is no go command on the PATH to change go.mod with; add to it:\n\trequire cancha v0.0.0\n\treplace cancha => ./" + Folder)
	}
	if err != nil {
		return fmt.Errorf("go mod edit: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
