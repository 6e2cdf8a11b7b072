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
//
// os.Exit in a cell ends the cell and not the process, also where a package calls it that knows nothing of cells: log.Fatal, flag.Parse, a
// library's own. So package os asks a hook first (internal/exithook), which does not return where a cell's code has called.
//
// Package reflect finds functions and structs that it has made by the hashes of what these are made of. A plugin that brings a type which
// reflect has made before is made to use that (kernel/eval/native/identity_linux.go), with the hash by which its type switches look. So
// reflect goes by the texts of types, which stay.

var (
	apart = regexp.MustCompile(`(?m)^func efaceOf\(`)
	exits = regexp.MustCompile(`(?m)^func Exit\(code int\) \{$`)
	parts = regexp.MustCompile(`(?m)^(\t+)hash = fnv1\(hash, byte\((t\.t|ft)\.Hash>>24\), .*\)$`)
)

// partsText is what stands for parts: the text of the same type.
const partsText = "${1}hash = fnv1(hash, []byte(stringFor((*abi.Type)(unsafe.Pointer(&$2.Size_))))...)"

// Names in a workspace's folder: the files of packages runtime, os and reflect that are changed, the one that is added to os, and what tells the go
// command to compile them.
const (
	runtimeName = "runtime2.go"
	exitName    = "proc.go"
	typeName    = "type.go"
	hookName    = "exit_hook.go"
	overlayName = "overlay.json"
)

// hookText is the file that is added to package os.
const hookText = `package os

import _ "unsafe" // for go:linkname

// exitHook is told of the calls of Exit; the process ends when it returns.
//
//go:linkname exitHook
var exitHook func(code int)

func beforeExit(code int) {
	if exitHook != nil {
		exitHook(code)
	}
}
`

// mendRuntime finds the flags by which packages runtime and os are compiled as the engine needs them. Where a toolchain has no function
// efaceOf, nothing is written into other functions of package runtime, which makes it slower; where its os.Exit is another one, that ends
// the process.
func (b *build) mendRuntime() error {
	source := filepath.Join(b.plan.tools.root, "src")
	overlay := map[string]string{}
	mended, err := b.mend(overlay, filepath.Join(source, "runtime", runtimeName), apart, "//go:noinline\n$0")
	if err != nil {
		return err
	}
	b.mended = nil
	if !mended {
		b.mended = []string{"-gcflags=runtime=-dynlink -l"}
	}
	hooked, err := b.mend(overlay, filepath.Join(source, "os", exitName), exits, "$0\n\tbeforeExit(code)")
	if err != nil {
		return err
	}
	if hooked {
		overlay[filepath.Join(source, "os", hookName)] = b.path(hookName)
		if err := os.WriteFile(b.path(hookName), []byte(hookText), 0o644); err != nil {
			return err
		}
	}
	if _, err := b.mend(overlay, filepath.Join(source, "reflect", typeName), parts, partsText); err != nil {
		return err
	}
	if len(overlay) == 0 {
		return nil
	}
	b.mended = append(b.mended, "-overlay="+b.path(overlayName))
	return writeJSON(b.path(overlayName), map[string]map[string]string{"Replace": overlay})
}

// mend writes a file of the toolchain into the workspace's folder with what is found in it changed, and notes that in the overlay. It returns
// false where nothing is found.
func (b *build) mend(overlay map[string]string, original string, find *regexp.Regexp, replacement string) (bool, error) {
	text, err := os.ReadFile(original)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !find.Match(text) {
		return false, nil
	}
	to := b.path(filepath.Base(original))
	overlay[original] = to
	return true, os.WriteFile(to, find.ReplaceAll(text, []byte(replacement)), 0o644)
}
