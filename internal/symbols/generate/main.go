// Command generate writes the tables of what a cell may import: the standard library, the foreign libraries that cells
// use, and the library wing of this module. For each package it reads the export data that the compiler wrote and
// writes a Go file with the package's names; the export data themselves go into an archive beside the tables, for the
// type checker.
//
//	go run ./internal/symbols/generate          # everything
//	go run ./internal/symbols/generate -only wing
//
// The output depends on nothing but the sources and the toolchain, which must be of the minor version that go.mod
// names: with a newer one the tables would hold names that this module's Go does not have.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func main() {
	only := flag.String("only", "", "write one group: std, foreign or wing")
	out := flag.String("out", "internal/symbols", "folder that holds the groups")
	flag.Parse()
	if err := run(*only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(only, out string) error {
	if err := checkToolchain(); err != nil {
		return err
	}
	groups := groups()
	if only != "" {
		groups = slices.DeleteFunc(groups, func(g group) bool { return g.name != only })
		if len(groups) == 0 {
			return fmt.Errorf("no group %q: there are std, foreign and wing", only)
		}
	}
	for _, g := range groups {
		files, err := g.generate()
		if err != nil {
			return fmt.Errorf("group %s: %w", g.name, err)
		}
		if err := replace(filepath.Join(out, g.name), files); err != nil {
			return fmt.Errorf("group %s: %w", g.name, err)
		}
		fmt.Printf("%s: %d files\n", g.name, len(files))
	}
	return nil
}

// checkToolchain compares the running Go with the one that go.mod names.
func checkToolchain() error {
	want, err := exec.Command("go", "list", "-m", "-f", "{{.GoVersion}}").Output()
	if err != nil {
		return fmt.Errorf("ask go.mod for its Go version: %w", err)
	}
	minor := minorVersion(strings.TrimSpace(string(want)))
	if have := minorVersion(strings.TrimPrefix(runtime.Version(), "go")); have != minor {
		return fmt.Errorf("this is Go %s and go.mod names %s: set GOTOOLCHAIN to a go%s release", have, minor, minor)
	}
	return nil
}

func minorVersion(v string) string {
	parts := strings.SplitN(v, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// replace makes a group's folder hold these generated files and no other generated ones. Files written by hand, and
// files that are as they should be, are left alone.
func replace(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		if _, wanted := files[e.Name()]; wanted || !generated(name) {
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	var errs []error
	for name, data := range files {
		name = filepath.Join(folder, name)
		if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, data) {
			continue
		}
		errs = append(errs, os.WriteFile(name, data, 0o666))
	}
	return errors.Join(errs...)
}

func generated(name string) bool {
	if filepath.Ext(name) == ".zip" {
		return true
	}
	data, err := os.ReadFile(name)
	return err == nil && bytes.HasPrefix(data, []byte("// Code generated "))
}
