package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Toolchain is what cells are compiled with: the tools, and the packages, that the running engine was built with.
type Toolchain struct {
	GoVersion    string   `json:"goVersion"`
	Compile      string   `json:"compile"`   // program
	Link         string   `json:"link"`      // program
	CC           string   `json:"cc"`        // program, for the linker
	ImportConfig string   `json:"importcfg"` // file: the archives of all packages that cells may import
	Env          []string `json:"env"`
	Cache        string   `json:"cache"` // folder for built cells
	Modules      []Module `json:"modules"`
	Race         bool     `json:"race"`
}

// Module is a module that was added to the engine.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// CompileError is what the compiler said of a cell's package.
type CompileError struct{ Text string }

func (e *CompileError) Error() string { return e.Text }

func (t *Toolchain) archive(u *Unit) string {
	return filepath.Join(t.Cache, filepath.Base(u.Path), "cell.a")
}
func (t *Toolchain) plugin(u *Unit) string {
	return filepath.Join(t.Cache, filepath.Base(u.Path), "cell.so")
}

// build makes a unit's archive and plugin, unless they are there already.
func (t *Toolchain) build(ctx context.Context, u *Unit, text string) error {
	dir := filepath.Dir(t.plugin(u))
	if t.kept(u) {
		return nil
	}
	if err := os.MkdirAll(t.Cache, 0o755); err != nil {
		return fmt.Errorf("make the folder for compiled cells: %w", err)
	}
	tmp, err := os.MkdirTemp(t.Cache, beingBuilt)
	if err != nil {
		return fmt.Errorf("make a folder for the compiled cell: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := t.make(ctx, tmp, u, text); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Stat(t.plugin(u)); there != nil {
			return fmt.Errorf("keep the compiled cell: %w", err)
		}
	}
	return nil
}

// pluginMain is the package that a plugin is of. A cell's own package cannot be it, since later plugins hold that too, and the
// exported names of a plugin's main package would then be there twice.
const pluginMain = `package main
import cell %q
var Bind = cell.` + cellType + `{}.Bind
func main() {}
`

func (t *Toolchain) make(ctx context.Context, dir string, u *Unit, text string) error {
	cellFile, mainFile := filepath.Join(dir, "cell.go"), filepath.Join(dir, "main.go")
	config := filepath.Join(dir, "importcfg")
	files := map[string]string{cellFile: strings.ReplaceAll(text, ownPath+".", u.Path+"."), mainFile: fmt.Sprintf(pluginMain, u.Path)}
	cfg, err := os.ReadFile(t.ImportConfig)
	if err != nil {
		return fmt.Errorf("read the list of compiled packages: %w", err)
	}
	var b strings.Builder
	b.Write(cfg)
	seen := map[*Unit]bool{}
	var add func(u *Unit)
	add = func(c *Unit) {
		if seen[c] {
			return
		}
		seen[c] = true
		if c != u {
			fmt.Fprintf(&b, "packagefile %s=%s\n", c.Path, t.archive(c))
		}
		for _, c := range c.cells {
			add(c)
		}
	}
	add(u)
	fmt.Fprintf(&b, "packagefile %s=%s\n", u.Path, filepath.Join(dir, "cell.a"))
	files[config] = b.String()
	for name, content := range files {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return fmt.Errorf("write the cell's package: %w", err)
		}
	}
	// -l=4: the rare call at the beginning of each function does not keep it from being inlined
	flags := []string{"-pack", "-l=4", "-dynlink", "-lang=go1.26", "-importcfg", config, "-trimpath", dir + "=>"}
	if err := t.run(ctx, dir, t.Compile, append(flags, "-o", filepath.Join(dir, "cell.a"), "-p", u.Path, cellFile)...); err != nil {
		return err
	}
	plugin := u.Path + "/plugin"
	if err := t.run(ctx, dir, t.Compile, append(flags, "-o", filepath.Join(dir, "main.a"), "-p", plugin, mainFile)...); err != nil {
		return err
	}
	if err := t.link(ctx, dir, "-importcfg", config, "-buildmode=plugin", "-pluginpath="+plugin, "-buildid="+u.Path); err != nil {
		return err
	}
	for _, name := range []string{mainFile, config, filepath.Join(dir, "main.a")} {
		_ = os.Remove(name) // not needed any more
	}
	return nil
}

// quickCC is a C compiler for the linker, which tries a flag by having a C program compiled and linked before it has the plugin linked:
// a sixth of the time that a cell takes. There are two such flags: a build's id, which every linker of ELF files takes, and
// -Qunused-arguments, which clang can do without.
const quickCC = `#!/bin/sh
case "$*" in
*-Qunused-arguments*) exit 1 ;;
*trivial.c) exit 0 ;;
esac
exec %s "$@"
`

// link links main.a to cell.so.
func (t *Toolchain) link(ctx context.Context, dir string, flags ...string) error {
	flags = append(flags, "-s", "-w", "-compressdwarf=false", "-o", filepath.Join(dir, "cell.so"))
	with := func(cc string) error {
		all := slices.Clone(flags)
		if cc != "" {
			all = append(all, "-extld="+cc)
		}
		return t.run(ctx, dir, t.Link, append(all, filepath.Join(dir, "main.a"))...)
	}
	quick := filepath.Join(dir, "cc")
	defer os.Remove(quick)
	text := fmt.Sprintf(quickCC, shellQuoted(t.CC))
	if t.CC != "" && runtime.GOOS == "linux" && os.WriteFile(quick, []byte(text), 0o755) == nil && with("'"+quick+"'") == nil { // quoted, for spaces
		return nil
	}
	return with(t.CC) // where nothing in the folder can be run, say; the error is the one of the plain way
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (t *Toolchain) run(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if len(t.Env) > 0 {
		cmd.Env = t.Env
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if out.Len() > 0 {
			return &CompileError{strings.TrimSpace(out.String())}
		}
		return fmt.Errorf("run %s: %w", filepath.Base(program), err)
	}
	return nil
}
