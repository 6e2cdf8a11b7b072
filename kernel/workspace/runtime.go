package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Compiled for dynamic linking, Go's package runtime takes a wrong mask for the frames of reflect.MakeFunc: the garbage collector then
// frees what only their arguments point to, and moves what is no pointer. Its function stkobjinit finds the mask by efaceOf. Where that
// is written into it, the compiler loads the mask's address from the global offset table, and the linker gives that load the place of
// another entry (go1.26.8; the mask is part of the symbol runtime.gcbits.*, and its offset there is added to the entry's own address).
// Go's programs are not compiled so, only its plugins, in which nobody calls stkobjinit. So package runtime is compiled with that function
// kept apart.

var apart = regexp.MustCompile(`(?m)^func efaceOf\(`)

// Names in a workspace's folder: the file of package runtime that is changed, and what tells the go command to compile it.
const (
	runtimeName = "runtime2.go"
	overlayName = "overlay.json"
)

// mendRuntime finds the flags by which package runtime is compiled right. Where a toolchain has no such function, nothing is written into
// other functions of that package, which makes it slower.
func (b *build) mendRuntime() error {
	original := filepath.Join(b.plan.tools.root, "src", "runtime", runtimeName)
	text, err := os.ReadFile(original)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !apart.Match(text) {
		b.mended = []string{"-gcflags=runtime=-dynlink -l"}
		return nil
	}
	if err := os.WriteFile(b.path(runtimeName), apart.ReplaceAll(text, []byte("//go:noinline\n$0")), 0o644); err != nil {
		return err
	}
	b.mended = []string{"-overlay=" + b.path(overlayName)}
	return writeJSON(b.path(overlayName), map[string]map[string]string{"Replace": {original: b.path(runtimeName)}})
}
