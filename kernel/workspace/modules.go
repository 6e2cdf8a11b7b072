package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// addModules adds the wanted modules to the engine's go.mod. A local folder is read where it is.
func (b *build) addModules(ctx context.Context) error {
	for _, m := range b.plan.modules {
		if m.Dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(m.Dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
			return obstacle(err, "\"go mod init\" makes one", "%s holds no Go module, because it has no go.mod", m.Dir)
		}
		if _, err := b.command(ctx, "adding "+m.Path, b.local(m)...); err != nil {
			return err
		}
	}
	if err := b.resolve(ctx, b.plan.modules, nil); err != nil {
		return err
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

// local are the arguments that require a module of a folder.
func (b *build) local(m Module) []string {
	return []string{"mod", "edit", "-require=" + m.Path + "@" + localVersion(m.Path), "-replace=" + m.Path + "=" + m.Dir, b.path("go.mod")}
}

// resolve puts into go.mod what the local ones of these modules replace, and drops what was there of such. A module that was itself asked
// for stays that. Held are the packages of the engine that is extended, nil where one is built.
func (b *build) resolve(ctx context.Context, modules []Module, held map[string]Package) error {
	var args, sums []string
	for _, old := range b.replaced {
		args = append(args, "-dropreplace="+old)
	}
	b.replaced = nil
	by := map[string]Module{} // who replaces what
	with := map[string]string{}
	for _, m := range modules {
		if m.Dir == "" {
			continue
		}
		l, err := readLocal(m.Dir, get(b.store.environ, "GOWORK"))
		if err != nil {
			return fmt.Errorf("module %s: %w", m.Path, err)
		}
		all, err := b.replacementsOf(ctx, l, held)
		if err != nil {
			return fmt.Errorf("module %s: %w", m.Path, err)
		}
		for _, r := range all {
			if slices.ContainsFunc(modules, func(m Module) bool { return m.Path == r.path }) {
				continue
			}
			if first, ok := by[r.old()]; ok && with[r.old()] != r.new() {
				return fmt.Errorf("%s replaces %s with %s, and %s replaces it with %s: a session can have one of them; %%get names it, or another session",
					m.Path, r.old(), r.new(), first.Path, with[r.old()])
			}
			by[r.old()], with[r.old()] = m, r.new()
			b.replaced = append(b.replaced, r.old())
			args = append(args, "-replace="+r.old()+"="+r.new())
			if r.required {
				args = append(args, "-require="+r.old())
			}
		}
		sums = append(sums, l.sums()...)
	}
	if err := addSums(b.path("go.sum"), sums); err != nil {
		return err
	}
	if len(args) == 0 {
		return nil
	}
	_, err := b.command(ctx, "replacing modules", slices.Concat([]string{"mod", "edit"}, args, []string{b.path("go.mod")})...)
	return err
}

// replacementsOf are what a local module replaces and what it has vendored. A vendored module that the engine holds, unchanged, is the
// engine's.
func (b *build) replacementsOf(ctx context.Context, l local, held map[string]Package) ([]replacement, error) {
	if l.vendor == "" {
		return l.replacements, nil
	}
	same := func(m vendoredModule, files map[string][]byte) bool {
		holds := func(p Package) bool { return p.Module == m.path && p.Version == m.version }
		if !slices.ContainsFunc(slices.Collect(maps.Values(held)), holds) {
			return false
		}
		dir, err := b.command(ctx, "finding "+m.path, "list", "-m", "-f", "{{.Dir}}", m.path)
		return err == nil && sameIn(strings.TrimSpace(string(dir)), files)
	}
	vendored, err := vendor(l.vendor, filepath.Join(filepath.Dir(b.sources), modulesName), same)
	return append(slices.Clone(l.replacements), vendored...), err
}

// addSums adds to a go.sum what others have of modules that it does not know: where they were built, these sums were checked.
func addSums(name string, files []string) error {
	have, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := map[string]bool{}
	of := func(line string) string { // "path version", whose sum follows
		fields := strings.Fields(line)
		return strings.Join(fields[:min(2, len(fields))], " ")
	}
	for line := range strings.Lines(string(have)) {
		known[of(line)] = true
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if key := of(line); key != "" && !known[key] {
				known[key] = true
				have = append(have, strings.TrimRight(line, "\r\n")+"\n"...)
			}
		}
	}
	if len(have) == 0 {
		return nil
	}
	return os.WriteFile(name, have, 0o644)
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
