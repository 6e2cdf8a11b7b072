package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// listed is a package as the go command sees it.
type listed struct {
	path, name, export string // export is the file with its export data
	folder             string
	files              []string // its Go files on the platform
}

// goList runs go list for a platform and returns the packages that match the patterns. With export set it compiles
// them, with -trimpath so that the export data do not depend on where the sources lie.
func goList(p platform, export bool, patterns ...string) ([]listed, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	args := []string{"list", "-trimpath", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}"}
	if export {
		args = append(args, "-export")
	}
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s for %s: %s: %w", strings.Join(patterns, " "), p, bytes.TrimSpace(stderr.Bytes()), err)
	}
	var all []listed
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, listed{path: f[0], name: f[1], export: f[2], folder: f[3], files: strings.Fields(f[4])})
	}
	return all, nil
}

// load reads the packages' types from their export data. What the compiler writes for a package describes every type
// that its exported names reach, whichever package that is from, so nothing but the packages themselves is read.
func load(packages []listed) ([]*types.Package, error) {
	files := map[string]string{}
	for _, p := range packages {
		files[p.path] = p.export
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	var all []*types.Package
	for _, p := range packages {
		if p.path == "unsafe" {
			all = append(all, types.Unsafe)
			continue
		}
		t, err := imp.Import(p.path)
		if err != nil {
			return nil, fmt.Errorf("read the export data of %s: %w", p.path, err)
		}
		all = append(all, t)
	}
	return all, nil
}

// payload returns the type information in a compiled package, without the headers, which name the build.
func payload(archive string) ([]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	head := make([]byte, 8+60)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	var size int
	if _, err := fmt.Sscan(string(head[8+48:8+58]), &size); err != nil || !bytes.HasPrefix(head, []byte("!<arch>\n__.PKGDEF ")) {
		return nil, fmt.Errorf("read %s: not a package archive", archive)
	}
	def := make([]byte, size)
	if _, err := io.ReadFull(r, def); err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	_, data, ok := bytes.Cut(def, []byte("\n$$B\nu"))
	data, ok2 := bytes.CutSuffix(data, []byte("\n$$\n"))
	if !ok || !ok2 {
		return nil, fmt.Errorf("read %s: its export data are in a form that is not known here", archive)
	}
	return data, nil
}
