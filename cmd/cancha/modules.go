//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cancha/kernel/eval"
	"cancha/kernel/eval/native"
	"cancha/kernel/workspace"
)

// modules adds modules to what the cells of a running engine may import. Each set of modules has a workspace of its own; the
// engine goes on as it is, since a workspace that only adds packages leaves those that the engine has as they are.
type modules struct {
	store  *workspace.Store
	folder string // of the engine's own workspace
	tools  native.Toolchain
	added  []workspace.Module
	using  *workspace.Workspace // keeps the last one from being removed
}

// Add makes a module's packages ready.
func (m *modules) Add(ctx context.Context, wanted string, say func(line string)) (eval.Added, error) {
	module, err := m.resolve(ctx, wanted)
	if err != nil {
		return eval.Added{}, err
	}
	list := slices.DeleteFunc(slices.Clone(m.added), func(old workspace.Module) bool { return old.Path == module.Path })
	list = append(list, module)
	w, err := m.store.Ensure(ctx, list, func(line string) {
		say(strings.Replace(line, "building the engine for "+m.tools.GoVersion, "adding "+module.Path, 1))
	})
	if err != nil {
		return eval.Added{}, err
	}
	added, err := m.take(w, module)
	if err != nil {
		w.Close()
		return eval.Added{}, err
	}
	if m.using != nil {
		m.using.Close()
	}
	m.using, m.added = w, list
	return added, nil
}

// take reads a workspace with added modules, which has to leave what the engine has as it is.
func (m *modules) take(w *workspace.Workspace, module workspace.Module) (eval.Added, error) {
	same, err := workspace.Extends(w.Dir, m.folder)
	if err != nil {
		return eval.Added{}, err
	}
	if !same {
		return eval.Added{}, fmt.Errorf("%s wants another version of a package than the one that the running engine holds: set %s=%s for the kernel and restart it (variables are lost)",
			module.Path, modulesVariable, pin(module))
	}
	tools, err := openWorkspace(w.Dir)
	if err != nil {
		return eval.Added{}, err
	}
	have, err := workspace.Packages(m.tools.ImportConfig)
	if err != nil {
		return eval.Added{}, err
	}
	archives, err := workspace.Packages(tools.ImportConfig)
	if err != nil {
		return eval.Added{}, err
	}
	a := eval.Added{Module: native.Module{Path: module.Path, Version: module.Version}, Tools: *tools, Archives: archives}
	for p := range archives {
		if _, old := have[p]; !old && !internal(p) {
			a.Packages = append(a.Packages, eval.Package{Path: p, Name: path.Base(p)})
		}
	}
	return a, nil
}

// modulesVariable names modules that engines are built with from the start.
const modulesVariable = "CANCHA_MODULES"

func pin(m workspace.Module) string {
	if m.Version == "" {
		return m.Dir
	}
	return m.Path + "@" + m.Version
}

// internal tells a package that nobody may import but its neighbours.
func internal(p string) bool {
	return strings.Contains("/"+p+"/", "/internal/") || strings.Contains("/"+p+"/", "/vendor/")
}

// resolve finds which module is meant: by its path, by that of one of its packages, or by its folder; and the newest version
// where none is given.
func (m *modules) resolve(ctx context.Context, wanted string) (workspace.Module, error) {
	if strings.HasPrefix(wanted, ".") || filepath.IsAbs(wanted) {
		return localModule(ctx, m, wanted)
	}
	name, version, given := strings.Cut(wanted, "@")
	if !given {
		version = "latest"
	}
	var first error
	for p := name; strings.Contains(p, "/"); p = path.Dir(p) {
		found, err := m.query(ctx, p+"@"+version)
		if err == nil {
			return found, nil
		}
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("%q is no module's path, such as github.com/google/uuid", name)
	}
	return workspace.Module{}, first
}

// query asks the go command for a module's version.
func (m *modules) query(ctx context.Context, module string) (workspace.Module, error) {
	out, err := m.golang(ctx, os.TempDir(), "list", "-m", "-json", module)
	if err != nil {
		return workspace.Module{}, err
	}
	var found struct{ Path, Version string }
	if err := json.Unmarshal(out, &found); err != nil {
		return workspace.Module{}, fmt.Errorf("read what go list says of %s: %w", module, err)
	}
	return workspace.Module{Path: found.Path, Version: found.Version}, nil
}

func localModule(ctx context.Context, m *modules, dir string) (workspace.Module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return workspace.Module{}, err
	}
	out, err := m.golang(ctx, dir, "list", "-m", "-f", "{{.Path}}")
	if err != nil {
		return workspace.Module{}, err
	}
	name := strings.TrimSpace(string(out))
	if name == "command-line-arguments" || name == "" {
		return workspace.Module{}, fmt.Errorf("%s has no go.mod", dir)
	}
	return workspace.Module{Path: name, Dir: dir}, nil
}

// golang runs the go command that belongs to the compiler which cells are compiled with.
func (m *modules) golang(ctx context.Context, dir string, args ...string) ([]byte, error) {
	root := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(m.tools.Compile)))) // of GOROOT/pkg/tool/os_arch/compile
	cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "go"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GOTOOLCHAIN=local") // where modules come from is the person's
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var status *exec.ExitError
	if errors.As(err, &status) && len(status.Stderr) > 0 {
		return nil, errors.New(lastLines(string(status.Stderr), 2))
	}
	return out, err
}

// lastLines are the last lines of what a command said, without the progress before them.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// wantedModules are those that engines are built with from the start.
func wantedModules() []workspace.Module {
	var list []workspace.Module
	for _, text := range strings.FieldsFunc(os.Getenv(modulesVariable), func(r rune) bool { return r == ',' || r == ' ' }) {
		if name, version, ok := strings.Cut(text, "@"); ok {
			list = append(list, workspace.Module{Path: name, Version: version})
		}
	}
	return list
}
