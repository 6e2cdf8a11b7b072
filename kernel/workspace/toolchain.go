package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// toolchain is a Go installation that is new enough.
type toolchain struct {
	root    string            // GOROOT
	command string            // the go command of that very root
	version string            // such as go1.26.8
	tools   string            // folder of compiler and linker
	vars    map[string]string // what "go env" says in the user's environment
}

// probeLimit ends a go or C command that does not answer. It is long, because the go command may first have to fetch the
// toolchain that GOTOOLCHAIN names.
const probeLimit = 2 * time.Minute

// findToolchain returns the first toolchain that is at least as new as least (such as go1.26.0), or an Obstacle.
func (s *Store) findToolchain(ctx context.Context, least string) (toolchain, error) {
	var first error // of the likeliest candidate
	for _, command := range s.candidates() {
		for _, environ := range s.selections() {
			t, err := askGo(ctx, command, environ)
			if ctx.Err() != nil {
				return t, ctx.Err()
			}
			if err == nil {
				if err = t.suits(least); err == nil {
					return t, nil
				}
			}
			if first == nil {
				first = err
			}
		}
	}
	if first == nil {
		first = obstacle(nil, fmt.Sprintf("install Go %s or newer from https://go.dev/dl, or %s%s", strings.TrimPrefix(least, "go"), byPip, again),
			"no Go toolchain was found, which compiling cells takes")
	}
	return toolchain{}, first
}

// selections are the environments to try a go command in: the user's, and, where GOTOOLCHAIN asks for another toolchain
// than the command's own, the one that does without. GOROOT is in neither: its own command is a candidate, and would find the
// way home without; any other would mix two installations.
func (s *Store) selections() [][]string {
	free := without(s.environ, func(name string) bool { return name == "GOROOT" })
	local := replace(free, "GOTOOLCHAIN=local")
	if get(s.environ, "GOTOOLCHAIN") == "local" {
		return [][]string{local}
	}
	return [][]string{free, local}
}

// candidates lists go commands, the likeliest first: GOROOT's, those in PATH, those in the usual places, one of a Python package.
func (s *Store) candidates() []string {
	var all []string
	if root := get(s.environ, "GOROOT"); root != "" {
		all = append(all, filepath.Join(root, "bin", "go"))
	}
	for _, dir := range filepath.SplitList(get(s.environ, "PATH")) {
		if filepath.IsAbs(dir) { // what is beside a notebook is not to be run for it
			all = append(all, filepath.Join(dir, "go"))
		}
	}
	for _, pattern := range append(slices.Clone(s.places), inPython(s.python, "go/bin/go")...) {
		found, _ := filepath.Glob(pattern) // the patterns are sound
		slices.Reverse(found)              // higher numbers first
		all = append(all, found...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(name string) bool {
		real, err := filepath.EvalSymlinks(name)
		if err != nil || seen[real] || !executable(real) {
			return true
		}
		seen[real] = true
		return false
	})
}

// usualPlaces are where installers put the go command, as patterns.
func usualPlaces(home string) []string {
	all := []string{
		"/usr/local/go/bin/go", "/usr/lib/go/bin/go", "/usr/lib/go-*/bin/go", "/usr/lib64/go/bin/go", "/opt/go/bin/go",
		"/opt/homebrew/bin/go", "/usr/local/bin/go", "/opt/local/bin/go", "/snap/bin/go", "/home/linuxbrew/.linuxbrew/bin/go",
	}
	if home != "" {
		all = append(all, home+"/sdk/go*/bin/go", home+"/.local/go/bin/go", home+"/go/bin/go", home+"/.asdf/shims/go")
	}
	return all
}

func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// askGo asks a go command about itself. It runs where no go.mod asks for another toolchain.
func askGo(ctx context.Context, command string, environ []string) (toolchain, error) {
	out, err := output(ctx, environ, command, "env", "-json")
	if err != nil {
		return toolchain{}, obstacle(err, "repair it, or install Go from https://go.dev/dl"+again, "the go command %s does not work (%v)", command, err)
	}
	t := toolchain{command: command}
	if err := json.Unmarshal(out, &t.vars); err != nil {
		return t, obstacle(err, "install Go from https://go.dev/dl"+again, "%s is not Go's command (\"go env -json\" printed no JSON)", command)
	}
	t.root, t.tools = t.vars["GOROOT"], t.vars["GOTOOLDIR"]
	t.version, _, _ = strings.Cut(t.vars["GOVERSION"], " ") // experiments follow a blank
	if own := filepath.Join(t.root, "bin", "go"); executable(own) {
		t.command = own // GOTOOLCHAIN may have led to another root
	}
	return t, nil
}

// suits reports what is wrong with a toolchain. One built from Go's development has no number and is taken for new enough.
func (t toolchain) suits(least string) error {
	if version.IsValid(t.version) && version.Compare(t.version, least) < 0 {
		return obstacle(nil, "install that from https://go.dev/dl"+again, "%s in %s is too old, because compiling cells takes Go %s or newer",
			t.version, t.root, strings.TrimPrefix(least, "go"))
	}
	for _, tool := range []string{t.compile(), t.link()} {
		if !executable(tool) {
			return obstacle(nil, "install Go again from https://go.dev/dl"+again, "the Go installation in %s is incomplete (it has no %s)", t.root, tool)
		}
	}
	return nil
}

func (t toolchain) compile() string { return filepath.Join(t.tools, "compile") }
func (t toolchain) link() string    { return filepath.Join(t.tools, "link") }

// compiler is a C compiler: the command with its arguments, as Go's CC, what it says of itself, and the flags for cgo's files.
type compiler struct {
	command string
	version string
	flags   CFlags
}

// findCompiler returns the compiler that CC names, or else the first of the usual ones, or that of a Python package, or an Obstacle.
func (s *Store) findCompiler(ctx context.Context, t toolchain) (compiler, error) {
	names := []string{t.vars["CC"], "gcc", "clang", "cc"}
	if zig := zig(s.python); zig != "" && !strings.ContainsAny(zig, " \t") { // CC's words are divided by blanks
		names = append(names, zig+" cc")
	}
	for _, name := range names {
		words := strings.Fields(name)
		if len(words) == 0 {
			continue
		}
		program := s.lookPath(words[0])
		if program == "" {
			continue
		}
		out, err := output(ctx, s.environ, program, append(words[1:], "--version")...)
		if ctx.Err() != nil {
			return compiler{}, ctx.Err()
		}
		if err != nil {
			return compiler{}, obstacle(err, "repair it, or set CC to another"+again, "the C compiler %s does not work (%v)", program, err)
		}
		first, _, _ := bytes.Cut(out, []byte("\n"))
		words[0] = program
		return compiler{strings.Join(words, " "), string(first), s.flags}, nil
	}
	return compiler{}, obstacle(nil, "install gcc or clang (Debian: build-essential, macOS: xcode-select --install), or "+byPip+again,
		"no C compiler was found, which loading compiled cells takes")
}

// lookPath finds a program as a shell in the user's environment would, "" if there is none.
func (s *Store) lookPath(name string) string {
	if strings.Contains(name, "/") {
		if filepath.IsAbs(name) && executable(name) {
			return name
		}
		return ""
	}
	for _, dir := range filepath.SplitList(get(s.environ, "PATH")) {
		if full := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(full) {
			return full
		}
	}
	return ""
}

// output runs a short command to its end.
func output(ctx context.Context, environ []string, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeLimit, fmt.Errorf("no answer in %v", probeLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = environ, os.TempDir(), time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case strings.TrimSpace(said.String()) != "":
		return nil, errors.New(telling(said.String(), err))
	}
	return nil, err
}
