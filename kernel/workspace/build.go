package workspace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// build makes one workspace. Its lock is held exclusively.
type build struct {
	store   *Store
	plan    plan
	dir     string
	sources string // where the go command runs
	lock    *lock
	env     []string
	log     *os.File // everything that the go command says
	say     *progress
	have    contents // what cells need of it, as far as it has been built
	mended  []string // the flags by which package runtime is compiled right

	replaced []string // modules that go.mod replaces because local ones do, as "go mod edit" names them
}

// make builds a workspace in dir, which may hold what an unfinished or damaged one has left.
func (s *Store) make(ctx context.Context, p plan, dir string, l *lock, say func(string)) error {
	if err := clear(dir); err != nil {
		return storage(dir, err)
	}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return storage(dir, err)
	}
	defer log.Close()
	b := build{
		store: s, plan: p, dir: dir, sources: filepath.Join(dir, sourcesName), lock: l, log: log, have: contents{Files: map[string]file{}},
		env: p.tools.build(s.environ, p.cc, filepath.Join(s.folder, "go-build")),
		say: newProgress("building the engine for "+p.tools.version, filepath.Join(dir, progressName), say),
	}
	err = b.run(ctx)
	b.say.close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // what was done is done again sooner: Go's cache has it
	case err != nil:
		_ = clear(dir) // debris must not fill a disk; if it cannot be cleared, the next build says so
		return storage(dir, err)
	}
	return nil
}

// clear empties a workspace's folder, its sign of being whole first.
func clear(dir string) error {
	for _, name := range []string{filepath.Join(dir, manifestName), dir} {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

func (b *build) run(ctx context.Context) error {
	if err := writeTree(b.store.sources, b.path(sourcesName)); err != nil {
		return err
	}
	for _, name := range []string{packagesName, cellsName, filepath.Dir(engineName)} {
		if err := os.MkdirAll(b.path(name), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} { // copies, since what is added must not change the sources that the engine carries
		if err := copyOut(b.store.sources, name, b.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := b.mendRuntime(); err != nil {
		return err
	}
	if err := b.addModules(ctx); err != nil {
		return err
	}
	packages, err := b.compile(ctx)
	if err != nil {
		return err
	}
	if err := b.keep(packages); err != nil {
		return err
	}
	if err := b.engine(ctx); err != nil {
		return err
	}
	return b.describe()
}

// engine builds the engine. If another workspace has all the same packages, apart from what an added module has brought, it takes that
// one's engine, which would be the same.
func (b *build) engine(ctx context.Context) error {
	if base := b.base(); base != "" {
		return adopt(base, b.path(engineName))
	}
	b.say.phase("building the engine for " + b.plan.tools.version + ", linking")
	_, err := b.command(ctx, "building the engine", "build", "-v", "-o", b.path(engineName), b.store.program)
	return err
}

func (b *build) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// listed is a package as "go list" tells it.
type listed struct {
	ImportPath, Name, Export, Dir string
	DepOnly, Stale                bool
	Module                        *struct {
		Path, Version, Dir string
		Replace            *struct{ Path, Version string }
	}
	Imports                           []string
	GoFiles, CgoFiles, SFiles, CFiles []string
	EmbedFiles                        []string
	Error                             *struct{ Err string }
}

// pack is what is kept of it.
func (p listed) pack() Package {
	k := Package{Path: p.ImportPath, Name: p.Name, Imports: p.Imports}
	if p.Module != nil {
		k.Module, k.Version = p.Module.Path, p.Module.Version
	}
	return k
}

// files are what is compiled.
func (p listed) files() []string { return slices.Concat(p.GoFiles, p.CgoFiles, p.SFiles, p.CFiles) }

// patterns are what engine and cells are made of: the program, and what cells may import. The packages of modules that were added are
// compiled when they are imported.
func (b *build) patterns() []string {
	return append([]string{b.store.program}, b.store.packages()...)
}

// fetch has the modules fetched, and counts the packages that are still to be compiled. Meanwhile the processors compile what needs no
// module; should that fail, compile tells why.
func (b *build) fetch(ctx context.Context) error {
	early, cancel := context.WithCancel(ctx)
	defer cancel()
	var compiling sync.WaitGroup
	compiling.Go(func() {
		_, _ = b.command(early, "compiling the standard library", slices.Concat([]string{"list", "-v", "-deps", "-export"}, standard())...)
	})
	err := b.estimate(ctx, b.patterns())
	if err != nil {
		cancel()
	}
	compiling.Wait()
	return err
}

// standard are packages that every engine needs and that bring along most others of the standard library.
func standard() []string {
	return []string{"net/http", "go/types", "go/doc", "html/template", "encoding/gob", "image/png"}
}

// estimate counts the packages that are still to be compiled, and has the modules fetched that hold them.
func (b *build) estimate(ctx context.Context, patterns []string) error {
	out, err := b.command(ctx, "finding the engine's packages", append([]string{"list", "-deps", "-json=ImportPath,Stale,Dir,GoFiles,CgoFiles,SFiles,CFiles"}, patterns...)...)
	if err != nil {
		return err
	}
	all, err := readListed(out)
	if err != nil {
		return err
	}
	b.say.expect(all)
	return nil
}

// compile compiles every package as plugins need them and returns them. Assembly that cannot be linked into a plugin is
// switched off where the module knows how to do without, and the packages are compiled again.
func (b *build) compile(ctx context.Context) ([]listed, error) {
	b.say.phase("building the engine for " + b.plan.tools.version)
	if err := b.fetch(ctx); err != nil {
		return nil, err
	}
	args := []string{"list", "-v", "-e", "-deps", "-export", "-json=ImportPath,Name,Export,Dir,DepOnly,Module,Imports,Error"}
	replaced := map[string]bool{}
	for {
		out, err := b.command(ctx, "compiling packages", append(args, b.patterns()...)...)
		if err != nil {
			return nil, err
		}
		all, err := readListed(out)
		if err != nil {
			return nil, err
		}
		changed, err := b.withoutAssembly(ctx, all, replaced)
		if err != nil {
			return nil, err
		}
		if !changed {
			return b.compiled(all)
		}
	}
}

// compiled picks the packages that there are.
func (b *build) compiled(all []listed) ([]listed, error) {
	var good []listed
	for _, p := range all {
		switch {
		case p.Export != "" && p.Name != "main":
			good = append(good, p)
		case p.Error != nil:
			return nil, explain("compiling "+p.ImportPath, p.Error.Err, b.log.Name(), b.dir, errors.New(p.Error.Err))
		}
	}
	return good, nil
}

func readListed(out []byte) (all []listed, err error) {
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		switch err := d.Decode(&p); err {
		case nil:
			all = append(all, p)
		case io.EOF:
			return all, nil
		default:
			return nil, fmt.Errorf("read what go list prints: %w", err)
		}
	}
}

// keep takes the compiled packages into the workspace, because "go clean" empties the cache where they are, and writes down
// which is which.
func (b *build) keep(packages []listed) error {
	var cfg bytes.Buffer
	for i, p := range packages {
		name := b.path(fmt.Sprintf("%s/%04d.a", packagesName, i))
		if err := adopt(p.Export, name); err != nil {
			return err
		}
		fmt.Fprintf(&cfg, "packagefile %s=%s\n", p.ImportPath, name)
	}
	if err := os.WriteFile(b.path(importcfgName), cfg.Bytes(), 0o644); err != nil {
		return err
	}
	list := make([]Package, len(packages))
	for i, p := range packages {
		list[i] = p.pack()
	}
	if err := writeJSON(b.path(listName), list); err != nil {
		return err
	}
	return errors.Join(b.have.add(b.dir, importcfgName), b.have.add(b.dir, listName), b.have.add(b.dir, packagesName))
}

// adopt makes a second name for a file of Go's cache, which never writes into one, or a copy where that cannot be.
func adopt(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyOut(os.DirFS(filepath.Dir(from)), filepath.Base(from), to)
}

// describe writes the sign that all is there.
func (b *build) describe() (err error) {
	if err := b.have.add(b.dir, engineName); err != nil {
		return err
	}
	if b.have.Size, err = sizeOf(b.dir); err != nil {
		return err
	}
	if err := writeJSON(b.path(contentsName), b.have); err != nil {
		return err
	}
	t := b.plan.tools
	return writeJSON(b.path(manifestName), Manifest{
		GoVersion: t.version, Compile: t.compile(), Link: t.link(), CC: b.plan.cc.command,
		Importcfg: b.path(importcfgName), Env: t.recorded(b.store.environ, b.plan.cc), Cache: b.path(cellsName),
		Modules: append([]Module{}, b.plan.modules...), Replaced: b.replaced,
	})
}

// command runs the go command and returns what it prints; an error is an Obstacle.
func (b *build) command(ctx context.Context, doing string, args ...string) ([]byte, error) {
	out, said, err := b.execute(ctx, args...)
	if err != nil && ctx.Err() == nil {
		err = explain(doing, said, b.log.Name(), b.dir, err)
	}
	return out, err
}

// execute runs the go command in the sources and returns what it prints and what it says beside. Its children inherit the lock, so that
// nobody else builds here while one of them, whose parent was killed, still does.
func (b *build) execute(ctx context.Context, args ...string) (printed []byte, said string, err error) {
	args = slices.Concat(args[:1], b.flags(args[0]), b.modfile(args[0]), args[1:])
	fmt.Fprintf(b.log, "go %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, b.plan.tools.command, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.sources, replace(b.env, "PWD="+b.sources), 5*time.Second
	cmd.ExtraFiles = []*os.File{b.lock.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, told bytes.Buffer
	lines, end := io.Pipe()
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&told, b.log, end)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			b.say.line(scan.Text())
		}
		_, _ = io.Copy(io.Discard, lines) // a line too long for the scanner must not stop the command
	}()
	err = cmd.Run()
	end.Close()
	<-read
	if ctx.Err() != nil {
		return nil, told.String(), ctx.Err()
	}
	return out.Bytes(), told.String(), err
}

// modfile says which go.mod is meant.
func (b *build) modfile(command string) []string {
	switch command {
	case "build", "list", "get":
		return []string{"-modfile=" + b.path("go.mod")}
	}
	return nil
}

// flags are those of a command.
func (b *build) flags(command string) []string {
	all := b.plan.flags(command)
	if all == nil {
		return nil
	}
	return append(all, b.mended...)
}

// flags are those of every command that builds or lists. With -trimpath what is compiled does not depend on the folder, so a new
// version's workspace takes from Go's cache what has not changed: 12 s of processor time instead of 28 (measured).
func (p plan) flags(command string) []string {
	all := append([]string{"-tags", p.tags, "-buildvcs=false", "-trimpath"}, loadable()...)
	switch command {
	case "build":
		root := "-X=runtime.defaultGOROOT=" + p.tools.root // which -trimpath takes away, and the sources of generics are below
		return append(all, "-ldflags=-s -w "+atFixedPlace(runtime.GOOS)+" '"+root+"'")
	case "list":
		return all
	}
	return nil
}

// loadable are the flags with which one compilation of a package serves the engine and the plugins of cells. "go build
// -buildmode=plugin" would compile for the plugins alone, and the engine's packages once more.
// The linker handles code for dynamic linking in a program only if that is to be position-independent.
func loadable() []string {
	return []string{"-buildmode=pie", "-gcflags=all=-dynlink", "-asmflags=all=-dynlink"}
}

// atFixedPlace has the engine linked for a fixed place after all, where the system allows that: relocating 280,000 addresses at each start
// takes 8 ms (measured).
func atFixedPlace(system string) string {
	if system == "linux" {
		return "-extldflags=-no-pie"
	}
	return ""
}
