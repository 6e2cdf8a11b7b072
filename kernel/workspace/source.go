package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is what a package of a local module was compiled from. By it an edit is seen before anybody compiles.
type Source struct {
	Dir    string   `json:"dir"`              // where the user has it
	Embeds []string `json:"embeds,omitempty"` // files that it embeds, by their names in Dir
	Sum    string   `json:"sum"`
	Copied bool     `json:"copied,omitempty"` // it was compiled from a copy, which nobody edits

	seen string // the sizes and times with which the sum was last found to be right
}

// readSource hashes a package as it is now.
func readSource(dir string, embeds []string) (*Source, error) {
	s := &Source{Dir: dir, Embeds: embeds}
	var err error
	s.Sum, err = s.sum()
	return s, err
}

// Changed tells whether the package is another one now. One that has gone is.
func (s *Source) Changed() bool {
	seen := s.stamps()
	if seen == s.seen {
		return false
	}
	sum, err := s.sum()
	if err != nil || sum != s.Sum {
		return true
	}
	s.seen = seen
	return false
}

// State names what the package is now, by the sizes and times of its files.
func (s *Source) State() string { return short([]byte(s.stamps())) }

// names are the files that may be compiled into the package.
func (s *Source) names() ([]string, error) {
	all, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(s.Embeds)
	for _, d := range all {
		name := d.Name()
		if d.Type().IsRegular() && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") && !strings.HasSuffix(name, "_test.go") && compiled(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// compiled tells whether the go command hands a file of that name to a compiler or an assembler.
func compiled(name string) bool {
	switch filepath.Ext(name) {
	case ".go", ".s", ".S", ".sx", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90", ".swig", ".swigcxx", ".syso":
		return true
	}
	return false
}

func (s *Source) stamps() string {
	names, err := s.names()
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, "%q %s\n", name, stamp(filepath.Join(s.Dir, name)))
	}
	return all.String()
}

func (s *Source) sum() (string, error) {
	names, err := s.names()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range names {
		f, err := os.Open(filepath.Join(s.Dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q\n", name)
		n, err := io.Copy(h, f)
		_ = f.Close() // it was read
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, n)
	}
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}

// Edited are the packages among those by these paths, and those that they need, whose sources have changed since they were compiled.
func (x *Extension) Edited(paths []string) (list []Package) {
	for _, p := range x.loaded(paths) {
		if p.Source != nil && p.Source.Changed() {
			list = append(list, p)
		}
	}
	return list
}

// carried are the packages that an extension takes over as they are, and all that these need: what the session has loaded, while its
// sources have been edited. Nobody looks at those sources then, which may be half written.
func (x *Extension) carried(want Want) (roots []string) {
	for _, path := range append(slices.Clone(x.Carried), x.Wanted...) {
		if path == want.Path && !want.Beside || slices.Contains(roots, path) {
			continue
		}
		edited := func(p Package) bool { return p.Source != nil && !p.Source.Copied && p.Source.Changed() }
		if slices.Contains(x.Carried, path) || slices.Contains(want.Used, path) && slices.ContainsFunc(x.loaded([]string{path}), edited) {
			roots = append(roots, path)
		}
	}
	return roots
}

// carry takes over the packages that stay as they are, and those that only they need.
func (x *extend) carry(cfg *bytes.Buffer, d *described) error {
	if len(x.carried) == 0 {
		return nil
	}
	archives, err := Packages(filepath.Join(x.from.Dir, importcfgName))
	if err != nil {
		return err
	}
	have := byPath(d.Packages)
	for i, p := range x.from.loaded(x.carried) {
		if _, ok := have[p.Path]; ok {
			continue // if it is another one, that is found when the extensions are compared
		}
		name := x.path(fmt.Sprintf("%s/carried-%04d.a", packagesName, i))
		if err := adopt(archives[p.Path], name); err != nil {
			return err
		}
		fmt.Fprintf(cfg, "packagefile %s=%s\n", p.Path, name)
		d.Packages = append(d.Packages, p)
	}
	return nil
}

// source is what a package of a local module is compiled from, nil for others.
func (x *extend) source(p listed) (*Source, error) {
	if p.Module == nil || p.Module.Replace == nil || p.Module.Replace.Version != "" {
		return nil, nil
	}
	if had, ok := byPath(x.from.Packages)[p.ImportPath]; ok && had.Source != nil && had.Source.Copied {
		return had.Source, nil // what the copy was made of
	}
	for _, r := range x.renamed {
		if r.As != p.Module.Path {
			continue
		}
		rel, err := filepath.Rel(p.Module.Dir, p.Dir)
		if err != nil {
			return nil, err
		}
		s, err := readSource(filepath.Join(r.Dir, rel), p.EmbedFiles)
		if s != nil {
			s.Copied = true
		}
		return s, err
	}
	if _, ours := below(p.Dir, filepath.Join(filepath.Dir(x.sources), modulesName)); ours {
		return nil, nil
	}
	return readSource(p.Dir, p.EmbedFiles)
}
