package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// release is what the packages of all platforms share.
type release struct {
	root            string // of the module
	version         string
	license, readme []byte
}

func newRelease(root string) (*release, error) {
	r := &release{root: root}
	var errs [3]error
	r.version, errs[0] = readVersion(filepath.Join(root, "cmd", "internal", "own", "own.go"))
	r.license, errs[1] = os.ReadFile(filepath.Join(root, "LICENSE"))
	r.readme, errs[2] = os.ReadFile(filepath.Join(root, "README.md"))
	return r, errors.Join(errs[:]...)
}

// readVersion returns the constant of that name in the program's sources, the one place that says it.
func readVersion(file string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec) // a constant's
			if i := slices.IndexFunc(v.Names, func(n *ast.Ident) bool { return n.Name == "Version" }); i >= 0 && i < len(v.Values) {
				if text, ok := v.Values[i].(*ast.BasicLit); ok {
					return strconv.Unquote(text.Value)
				}
			}
		}
	}
	return "", fmt.Errorf("%s: no constant \"Version\" with a string", file)
}

// build compiles the program for a platform.
func (r *release) build(ctx context.Context, p platform, to string) error {
	_, err := r.golang(ctx, p, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", to, "./cmd/cancha")
	return err
}

// fetching are the variables that say where modules come from, whoever has set them.
var fetching = []string{"GOMODCACHE", "GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB"}

// golang runs the go command for a platform, without what the environment or "go env -w" may ask of it.
func (r *release) golang(ctx context.Context, p platform, args ...string) (string, error) {
	set, err := exec.CommandContext(ctx, "go", append([]string{"env"}, fetching...)...).Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0", "GOENV=off", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	for i, value := range strings.Split(strings.TrimSuffix(string(set), "\n"), "\n") {
		cmd.Env = append(cmd.Env, fetching[i]+"="+value)
	}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, said.String())
	}
	return string(out), nil
}

// legal matches the names of files that a module asks to be handed on.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// licenses returns the licenses of Go and of every module that a platform's program is built from.
func (r *release) licenses(ctx context.Context, p platform) ([]byte, error) {
	list, err := r.golang(ctx, p, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/cancha")
	if err != nil {
		return nil, err
	}
	toolchain, err := r.golang(ctx, p, "env", "GOVERSION", "GOROOT") // a line each
	if err != nil {
		return nil, err
	}
	var modules []string
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" {
			modules = append(modules, line)
		}
	}
	slices.Sort(modules)
	modules = slices.Compact(modules)
	var text strings.Builder
	modules = slices.Insert(modules, 0, strings.Replace(strings.TrimSpace(toolchain), "\n", "\t", 1))
	for _, m := range modules {
		name, dir, _ := strings.Cut(m, "\t")
		if err := addLicenses(&text, name, dir); err != nil {
			return nil, err
		}
	}
	return []byte(text.String()), nil
}

// addLicenses adds what a module says of its license. One that says nothing may not be handed on.
func addLicenses(text *strings.Builder, module, dir string) error {
	found := false
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && name != "licenses":
			return fs.SkipDir
		case d.IsDir() || !legal.MatchString(name): // all in a folder of licenses match
			return nil
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(text, "==== %s: %s\n\n%s\n\n", module, name, strings.TrimSpace(string(data)))
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: no license in %s", module, dir)
	}
	return err
}
