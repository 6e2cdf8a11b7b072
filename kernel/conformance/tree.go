package main

import (
	_ "embed"
	"errors"
	"fmt"
	"go/build"
	"go/build/constraint"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// program is one of Go's test programs.
type program struct {
	name   string // path below the tree, with slashes
	source string
}

// folders of the tree that hold programs of one file each, as Go's own driver lists them (cmd/internal/testdir). Folders
// that end in .dir belong to programs of several files.
var folders = []string{
	".", "ken", "chan", "interface", "internal/runtime/sys", "syntax", "dwarf", "fixedbugs", "codegen", "abi", "typeparam",
	"typeparam/mdempsky", "arenas", "simd",
}

// findTree returns the folder of Go's test programs.
func findTree(named string) (string, error) {
	if named == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return "", fmt.Errorf("ask go for its GOROOT: %w", err)
		}
		named = filepath.Join(strings.TrimSpace(string(out)), "test")
	}
	if _, err := os.Stat(filepath.Join(named, "fixedbugs")); err != nil {
		return "", fmt.Errorf("no test programs in %s: some packages of Go leave them out, and so does the module golang.org/toolchain; "+
			"unpack https://go.dev/dl/%s.src.tar.gz and give its folder go/test with -tree (make conformance-go TREE=…)", named, runtime.Version())
	}
	return named, nil
}

// readTree returns the programs that Go's driver runs on this machine without flags, in order.
func readTree(tree string) ([]program, error) {
	var all []program
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(tree, folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read the tree: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			code, err := os.ReadFile(filepath.Join(tree, folder, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("read the tree: %w", err)
			}
			if p := (program{path.Join(folder, e.Name()), string(code)}); p.runs() {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// runs tells whether the first line that is no build constraint is "// run", and the constraints hold here.
func (p program) runs() bool {
	for line := range strings.Lines(p.source) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !constraint.IsGoBuild(line) && !constraint.IsPlusBuild(line) {
			if strings.TrimSpace(strings.TrimPrefix(line, "//")) != "run" || !strings.HasPrefix(line, "//") {
				return false
			}
			break
		}
	}
	return p.meant()
}

// meant tells whether the build constraints in front of the package clause hold on this machine.
func (p program) meant() bool {
	head, _, _ := strings.Cut(p.source, "\npackage ")
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(line)
		if err != nil || !expr.Eval(satisfied) {
			return false
		}
	}
	return true
}

func satisfied(tag string) bool {
	switch tag {
	case runtime.GOOS, runtime.GOARCH, "gc", "unix", "cgo":
		return true
	}
	return slices.Contains(build.Default.ReleaseTags, tag)
}

// exclusions are programs that cannot be compared, by name, each with its cause. A name may end in " b": then only the
// shape of two cells is left out.
//
//go:embed exclusions.txt
var exclusionsText string

// readExclusions reads lines "name: reason" under headings "# cause".
func readExclusions(text string) (causes map[string]string, err error) {
	causes = map[string]string{}
	cause := ""
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "##"):
		case strings.HasPrefix(line, "#"):
			cause = strings.TrimSpace(line[1:])
		default:
			name, reason, ok := strings.Cut(line, ": ")
			if !ok || cause == "" || causes[name] != "" {
				return nil, fmt.Errorf("exclusions.txt, line %d: want \"name: reason\" below a cause, each name once", number+1)
			}
			causes[name] = cause + ": " + reason
		}
	}
	return causes, nil
}

// choose returns n of all, chosen by seed, in their order.
func choose[T any](all []T, n int, seed uint64) []T {
	if n <= 0 || n >= len(all) {
		return all
	}
	at := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n]
	slices.Sort(at)
	out := make([]T, n)
	for i, k := range at {
		out[i] = all[k]
	}
	return out
}
