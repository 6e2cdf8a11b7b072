package eval

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// toolchain finds the source of the standard library: of a Go installation on this machine, asked for when it is first
// needed. A released engine knows none of its own.
type toolchain struct {
	root func() (string, error)
}

func newToolchain() *toolchain { return &toolchain{sync.OnceValues(goroot)} }

var errNoSource = errors.New("no Go installation was found: install Go, or write the function in the cell")

func goroot() (string, error) {
	//lint:ignore SA1019 where the program was built there is a toolchain, mostly; else the go command is asked
	for _, dir := range []string{os.Getenv("GOROOT"), runtime.GOROOT()} {
		if hasSource(dir) {
			return dir, nil
		}
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if dir := strings.TrimSpace(string(out)); err == nil && hasSource(dir) {
		return dir, nil
	}
	return "", errNoSource
}

func hasSource(root string) bool {
	if root == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(root, "src", "slices"))
	return err == nil && info.IsDir()
}

// source is the directory of a standard package.
func (t *toolchain) source(path string) (string, error) {
	root, err := t.root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "src", filepath.FromSlash(path)), nil
}
