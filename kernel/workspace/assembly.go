package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// A plugin's code is compiled for dynamic linking, where the register R15 belongs to the linker between two accesses to
// global variables. Assembly that uses it is refused by the assembler. Most such modules have a tag that switches their
// assembly off; but a tag holds for all modules of a build, and noasm would take away gonum's too, which is in order. So a module
// that is refused is copied into the workspace, with that tag changed in its build constraints to the workspace's own, which is set.

var clobbered = regexp.MustCompile(`when dynamic linking, R15 is clobbered`)

// switches are the tags by which modules do without assembly.
var switches = regexp.MustCompile(`\b(noasm|purego|appengine)\b`)

// withoutAssembly replaces the modules of packages whose assembly was refused, and reports whether there were any new ones.
func (b *build) withoutAssembly(ctx context.Context, all []listed, replaced map[string]bool) (changed bool, err error) {
	for _, p := range all {
		if p.Error == nil || p.Module == nil || p.Module.Dir == "" || !clobbered.MatchString(p.Error.Err) || replaced[p.Module.Path] {
			continue
		}
		replaced[p.Module.Path] = true
		name := p.Module.Path
		if p.Module.Version != "" {
			name += "@" + p.Module.Version // another one is not this copy
		}
		folder := name
		if isLocalVersion(p.Module.Version) || p.Module.Replace != nil {
			folder += "-" + filepath.Base(b.dir) // it may have been edited since another copy, or be another's replacement
		}
		copied := filepath.Join(filepath.Dir(b.sources), modulesName, filepath.FromSlash(folder))
		if err := copyOnce(p.Module.Dir, copied); err != nil {
			return false, fmt.Errorf("copy %s: %w", p.Module.Path, err)
		}
		relative := "../" + modulesName + "/" + folder
		if _, err := b.command(ctx, "replacing "+p.Module.Path, "mod", "edit", "-replace="+name+"="+relative, b.path("go.mod")); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// copyOnce is copyModule for a copy that builds beside this one may make, too: extensions of a workspace share it.
func copyOnce(from, to string) error {
	return makeOnce(to, func(temporary string) error { return copyModule(from, temporary) })
}

// makeOnce has a folder made whole or not at all; one that is there is left as it is.
func makeOnce(to string, make func(temporary string) error) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary) // nothing is there after the rename
	if err := make(temporary); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil { // as other folders of the workspace, which other users may read
		return err
	}
	if err := os.Rename(temporary, to); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}

// copyModule copies what building needs of a module, with its assembly switched off.
func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular(), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if ext := filepath.Ext(name); ext == ".go" || ext == ".s" {
			text = switchOff(text)
		}
		return os.WriteFile(target, text, 0o644)
	})
}

// switchOff changes the tags in a file's build constraint, if it has one.
func switchOff(text []byte) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "//go:build ") {
			line = switches.ReplaceAllString(line, ownTag)
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}
