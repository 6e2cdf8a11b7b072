package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// addModules adds the wanted modules to the engine's go.mod. A local folder is read where it is.
func (b *build) addModules(ctx context.Context) error {
	for _, m := range b.plan.modules {
		if m.Dir == "" {
			continue
		}
		dir, err := filepath.Abs(m.Dir)
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
			return obstacle(err, "\"go mod init\" makes one", "%s holds no Go module, because it has no go.mod", dir)
		}
		if _, err := b.command(ctx, "adding "+m.Path, b.local(Module{Path: m.Path, Dir: dir})...); err != nil {
			return err
		}
	}
	for _, m := range b.plan.modules {
		b.say.phase("adding " + m.Path)
		wanted, err := b.wanted(ctx, m)
		if err != nil {
			return err
		}
		if _, err := b.command(ctx, "adding "+m.Path, "get", wanted); err != nil {
			return err
		}
	}
	return nil
}

// wanted names a module for "go get". What a folder is to stand for keeps the version that others require of it: a lower one would take
// theirs down with it.
func (b *build) wanted(ctx context.Context, m Module) (string, error) {
	if m.Dir == "" {
		return strings.TrimSuffix(m.Path+"@"+m.Version, "@"), nil
	}
	version, err := b.command(ctx, "adding "+m.Path, "list", "-mod=mod", "-m", "-f", "{{.Version}}", m.Path)
	return m.Path + "@" + strings.TrimSpace(string(version)), err
}

// localVersion is that of a module in a folder, as Go names it. Without one "go get" would ask the network.
const localVersion = "v0.0.0-00010101000000-000000000000"

// local are the arguments that require a module of a folder.
func (b *build) local(m Module) []string {
	return []string{"mod", "edit", "-require=" + m.Path + "@" + localVersion, "-replace=" + m.Path + "=" + m.Dir, b.path("go.mod")}
}

// Packages reads which file holds which compiled package: import path → archive, as the compiler's and linker's -importcfg
// has it. An archive holds the package's export data for go/types too.
func Packages(importcfg string) (map[string]string, error) {
	f, err := os.Open(importcfg)
	if err != nil {
		return nil, fmt.Errorf("read the list of compiled packages: %w", err)
	}
	defer f.Close()
	all := map[string]string{}
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		if rest, ok := strings.CutPrefix(scan.Text(), "packagefile "); ok {
			path, file, _ := strings.Cut(rest, "=")
			all[path] = file
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read the list of compiled packages: %w", err)
	}
	return all, nil
}

// extends reports whether the workspace in dir, of these contents, holds every package of that in base unchanged: then their engines
// are the same. They are not where an added module has raised the version of a package that the engine has.
func (c contents) extends(dir, base string) (bool, error) {
	have, err := c.packages(dir)
	if err != nil {
		return false, err
	}
	var of contents
	if err := readJSON(filepath.Join(base, contentsName), &of); err != nil {
		return false, err
	}
	want, err := of.packages(base)
	if err != nil {
		return false, err
	}
	for path, sum := range want {
		if have[path] != sum {
			return false, nil
		}
	}
	return true, nil
}

// packages returns the archive of each package of a workspace, by size and sum.
func (c contents) packages(dir string) (map[string]file, error) {
	all, err := Packages(filepath.Join(dir, importcfgName))
	if err != nil {
		return nil, err
	}
	of := map[string]file{}
	for path, archive := range all {
		of[path] = c.Files[packagesName+"/"+filepath.Base(archive)]
	}
	return of, nil
}

// base finds the engine of the workspace without added modules, if that is whole and what is compiled here extends it; "" if
// not. Nothing holds that workspace meanwhile: should it go away, building fails, and the next time there is none.
func (b *build) base() string {
	if len(b.plan.modules) == 0 {
		return ""
	}
	p := b.plan
	p.modules = nil
	key, err := b.store.key(p)
	if err != nil {
		return ""
	}
	dir := b.store.place(key, 0)
	if _, _, err := whole(dir); err != nil {
		return ""
	}
	if same, err := b.have.extends(b.dir, dir); err != nil || !same {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(engineName))
}
