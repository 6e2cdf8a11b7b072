package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What a module has vendored is compiled in the place of what a proxy would give: it may have been patched, and there may be no proxy that
// has it. The go command reads a vendor folder for the main module alone; so each vendored module is copied out of it into a folder of its
// own, with a go.mod, and replaces its version.

// vendoredModule is a module of which a vendor folder has packages.
type vendoredModule struct {
	path, version, goVersion string
	packages                 []string
}

// readVendor reads which modules a vendor folder holds.
func readVendor(dir string) (all []vendoredModule, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "modules.txt"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch fields := strings.Fields(line); {
		case strings.HasPrefix(line, "# ") && len(fields) >= 3 && fields[2] != "=>":
			all = append(all, vendoredModule{path: fields[1], version: fields[2], goVersion: "1.16"}) // what Go takes where none is named
		case len(all) == 0 || line == "" || strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "##"):
			for option := range strings.SplitSeq(strings.TrimPrefix(line, "##"), ";") {
				if version, ok := strings.CutPrefix(strings.TrimSpace(option), "go "); ok {
					all[len(all)-1].goVersion = version
				}
			}
		default:
			all[len(all)-1].packages = append(all[len(all)-1].packages, line)
		}
	}
	return slices.DeleteFunc(all, func(m vendoredModule) bool { return len(m.packages) == 0 }), nil
}

// readVendored returns the files of each module of a vendor folder by their names in the module. A file belongs to the package in whose
// folder it lies, or in the nearest above: what packages embed is vendored with them.
func readVendored(dir string, modules []vendoredModule) (map[string]map[string][]byte, error) {
	owner := map[string]string{} // package → module
	files := map[string]map[string][]byte{}
	for _, m := range modules {
		files[m.path] = map[string][]byte{"go.mod": fmt.Appendf(nil, "module %s\n\ngo %s\n", m.path, m.goVersion)}
		for _, p := range m.packages {
			owner[p] = m.path
		}
	}
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		at := path.Dir(name)
		for owner[at] == "" && at != "." {
			at = path.Dir(at)
		}
		module := owner[at]
		if module == "" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		files[module][strings.TrimPrefix(name, module+"/")] = text
		return err
	})
	return files, err
}

// vendor copies the modules of a vendor folder below dir and returns how they replace those of a proxy. One that same finds unchanged is
// left out.
func vendor(from, dir string, same func(m vendoredModule, files map[string][]byte) bool) (all []replacement, err error) {
	modules, err := readVendor(from)
	if err != nil {
		return nil, err
	}
	files, err := readVendored(from, modules)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		if same(m, files[m.path]) {
			continue
		}
		folder := filepath.Join(dir, "vendored-"+sumOfFiles(files[m.path]), filepath.FromSlash(m.path)+"@"+m.version)
		if err := writeOnce(files[m.path], folder); err != nil {
			return nil, fmt.Errorf("copy %s: %w", m.path, err)
		}
		all = append(all, replacement{path: m.path, version: m.version, with: folder, required: true})
	}
	return all, nil
}

func sumOfFiles(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %d\n", name, len(files[name]))
		_, _ = h.Write(files[name]) // a hash takes all
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// writeOnce writes the files of a folder that builds beside this one may write, too: whole or not at all.
func writeOnce(files map[string][]byte, to string) error {
	return makeOnce(to, func(temporary string) error {
		for name, text := range files {
			file := filepath.Join(temporary, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

// sameIn tells whether a folder has all these files, but for the go.mod, which a vendor folder lacks.
func sameIn(dir string, files map[string][]byte) bool {
	for name, text := range files {
		if name == "go.mod" {
			continue
		}
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(have, text) {
			return false
		}
	}
	return true
}
