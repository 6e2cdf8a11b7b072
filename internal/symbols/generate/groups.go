package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// platform is an operating system and a processor.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// suffix makes the go command build a file on this platform only.
func (p platform) suffix() string { return "_" + p.os + "_" + p.arch }

// platforms returns where Cancha runs. The first is the one whose export data serve wherever a package is the same.
func platforms() []platform {
	return []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
}

// group is a set of packages whose tables are one Go package, so that a change in one group compiles no other anew.
type group struct {
	name     string
	patterns []string
	keep     func(listed) bool
	// perPlatform lists the packages whose names or constants differ from one platform to another. It was found by
	// comparing every exported name of the standard library on all platforms.
	perPlatform []string
	// documented are packages beyond those that cells import whose doc comments are kept.
	documented []string
}

func groups() []group {
	return []group{
		{name: "std", patterns: []string{"std"}, keep: standard, perPlatform: []string{"os", "runtime", "syscall"},
			documented: []string{"builtin"}},
		{name: "foreign", patterns: foreign(), keep: func(listed) bool { return true }},
		{name: "wing", patterns: []string{"cancha/runtime/...", "cancha/stream/...", "cancha/statsbomb/...", "cancha/ml/...", "cancha/jobs/..."}, keep: wing,
			documented: onImport()},
	}
}

// standard tells whether a cell may import a package of the standard library. The four that are left out are for the
// toolchain's own use or, as plugin, would load code behind the evaluator's back.
func standard(p listed) bool {
	switch p.path {
	case "plugin", "runtime/cgo", "runtime/race", "runtime/coverage":
		return false
	}
	return public(p.path) && !strings.HasPrefix(p.path, "vendor/")
}

func public(path string) bool { return !strings.Contains("/"+path+"/", "/internal/") }

// foreign lists the libraries of others that a cell may import.
func foreign() []string {
	return []string{
		"github.com/segmentio/kafka-go",
		"gonum.org/v1/gonum/floats",
		"gonum.org/v1/gonum/mat",
		"gonum.org/v1/gonum/stat",
		"gonum.org/v1/gonum/stat/distuv",
		"gonum.org/v1/plot",
		"gonum.org/v1/plot/font",
		"gonum.org/v1/plot/palette",
		"gonum.org/v1/plot/palette/moreland",
		"gonum.org/v1/plot/plotter",
		"gonum.org/v1/plot/plotutil",
		"gonum.org/v1/plot/text",
		"gonum.org/v1/plot/vg",
		"gonum.org/v1/plot/vg/draw",
		"gonum.org/v1/plot/vg/vgimg",
		"gonum.org/v1/plot/vg/vgsvg",
		"gorgonia.org/gorgonia",
		"gorgonia.org/tensor",
	}
}

// wing tells whether a package of the library wing is what cells import: programs, suites, the rooms behind internal and what fills the
// GPU's seam, which only some programs have, are not. Neither are the rooms with large libraries (onImport).
func wing(p listed) bool {
	if slices.Contains(onImport(), p.path) {
		return false
	}
	const filling, emulation = "cancha/runtime/gpu/cuda", "cancha/runtime/gpu/emulated"
	return p.name != "main" && public(p.path) && !strings.Contains(p.path+"/", "test/") && !strings.HasPrefix(p.path, filling) && p.path != emulation
}

// onImport are the rooms that are compiled when a cell imports them. They have no tables, but help (?name) and completion show their
// comments. The module lists them too; this program cannot ask it, since the module does not compile without what is written here.
func onImport() []string {
	return []string{"cancha/spark", "cancha/spark/mllib", "cancha/stream/avro", "cancha/stream/parquet", "cancha/stream/postgres"}
}

// generate returns the group's files.
func (g group) generate() (map[string][]byte, error) {
	home := platforms()[0]
	packages, err := g.list(home)
	if err != nil {
		return nil, err
	}
	shared, own := g.split(packages)
	files := map[string][]byte{}
	if err := g.tables(files, shared, "", "All", "the packages that are the same on every platform"); err != nil {
		return nil, err
	}
	if files["exports.zip"], err = exports(shared); err != nil {
		return nil, err
	}
	documented, err := goList(home, false, g.documented...)
	if err != nil {
		return nil, err
	}
	if files["docs.zip"], err = docs(append(documented, packages...)); err != nil {
		return nil, err
	}
	if files["docs.go"], err = emitDocs(g.name); err != nil {
		return nil, err
	}
	if len(own) == 0 {
		return files, nil
	}
	return files, g.platformFiles(files)
}

// platformFiles adds the files of the packages that differ, one set for each platform.
func (g group) platformFiles(files map[string][]byte) error {
	for _, p := range platforms() {
		packages, err := goList(p, true, g.perPlatform...)
		if err != nil {
			return err
		}
		if err := g.tables(files, packages, p.suffix(), "Platform", fmt.Sprintf("the packages that are their own on %s", p)); err != nil {
			return err
		}
		if files["exports"+p.suffix()+".zip"], err = exports(packages); err != nil {
			return err
		}
	}
	return nil
}

// list compiles the packages that belong to the group.
func (g group) list(p platform) ([]listed, error) {
	if g.name == "wing" { // asked first which they are: suites need not be compiled, nor compile
		all, err := goList(p, false, g.patterns...)
		if err != nil {
			return nil, err
		}
		g.patterns = nil
		for _, l := range all {
			if g.keep(l) {
				g.patterns = append(g.patterns, l.path)
			}
		}
		if len(g.patterns) == 0 {
			return nil, nil
		}
	}
	all, err := goList(p, true, g.patterns...)
	return slices.DeleteFunc(all, func(l listed) bool { return !g.keep(l) }), err
}

func (g group) split(packages []listed) (shared, own []listed) {
	for _, p := range packages {
		if slices.Contains(g.perPlatform, p.path) {
			own = append(own, p)
		} else {
			shared = append(shared, p)
		}
	}
	return shared, own
}

// tables adds a file for each package and the one that lists them.
func (g group) tables(files map[string][]byte, packages []listed, suffix, function, of string) error {
	loaded, err := load(packages)
	if err != nil {
		return err
	}
	var paths []string
	for _, p := range loaded {
		src, err := emit(p, g.name)
		if err != nil {
			return err
		}
		paths = append(paths, p.Path())
		files[tableName(p.Path())+suffix+".go"] = src
	}
	files[strings.ToLower(function)+suffix+".go"], err = emitAll(g.name, function, of, "exports"+suffix+".zip", paths)
	return err
}

// exports packs the packages' export data, each under its import path.
func exports(packages []listed) ([]byte, error) {
	return pack(packages, func(p listed) ([]byte, error) {
		if p.path == "unsafe" {
			return nil, nil // the type checker has it built in
		}
		return payload(p.export)
	})
}

// pack makes an archive with one file a package, those without content left out: a plain zip with dates of zero, so that
// equal packages make equal bytes, and one package is unpacked without the others; its comment is the toolchain.
func pack(packages []listed, content func(listed) ([]byte, error)) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	if err := w.SetComment(runtime.Version()); err != nil {
		return nil, err
	}
	for _, p := range packages {
		data, err := content(p)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: p.path, Method: zip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
