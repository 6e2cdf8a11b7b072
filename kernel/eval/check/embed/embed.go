// Package embed reads //go:embed directives and finds the files that they name, by the rules of the go command. It ends at the files' names:
// who reads them, and into which variable, is the business of others.
package embed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/mod/module"
)

// Prefix begins a directive.
const Prefix = "//go:embed"

// Patterns reads what stands behind [Prefix]: patterns with spaces between them, each bare or as a Go string.
func Patterns(args string) ([]string, error) {
	var list []string
	for args = strings.TrimSpace(args); args != ""; args = strings.TrimLeftFunc(args, unicode.IsSpace) {
		pattern, rest, err := next(args)
		if err != nil {
			return nil, err
		}
		list, args = append(list, pattern), rest
	}
	if len(list) == 0 {
		return nil, errors.New("usage: //go:embed pattern...")
	}
	return list, nil
}

// next cuts the first pattern off.
func next(args string) (pattern, rest string, err error) {
	if args[0] != '"' && args[0] != '`' {
		end := strings.IndexFunc(args, unicode.IsSpace)
		if end < 0 {
			end = len(args)
		}
		return args[:end], args[end:], nil
	}
	quoted, err := strconv.QuotedPrefix(args)
	if err != nil {
		return "", "", fmt.Errorf("invalid quoted string in //go:embed: %s", args)
	}
	rest = args[len(quoted):]
	if rest != "" && !unicode.IsSpace(rune(rest[0])) {
		return "", "", fmt.Errorf("invalid quoted string in //go:embed: %s", args)
	}
	pattern, err = strconv.Unquote(quoted)
	return pattern, rest, err
}

// Files are the files below folder that patterns name, with slashes, in order, each once. A pattern that names nothing, or what cannot be
// embedded, is an error.
func Files(folder string, patterns []string) ([]string, error) {
	found := map[string]bool{}
	for _, pattern := range patterns {
		if err := match(folder, pattern, found); err != nil {
			return nil, fmt.Errorf("pattern %s: %w", pattern, err)
		}
	}
	var list []string
	for name := range found {
		list = append(list, name)
	}
	slices.Sort(list)
	return list, nil
}

func match(folder, pattern string, found map[string]bool) error {
	glob, all := strings.CutPrefix(pattern, "all:")
	if _, err := path.Match(glob, ""); err != nil || glob == "." || !fs.ValidPath(glob) {
		return errors.New("invalid pattern syntax")
	}
	names, err := fs.Glob(os.DirFS(folder), glob)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no matching files found in %s", folder)
	}
	for _, name := range names {
		if err := add(folder, name, all, found); err != nil {
			return err
		}
	}
	return nil
}

// add adds a file, or the files of a folder.
func add(folder, name string, all bool, found map[string]bool) error {
	info, err := os.Lstat(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	what := "file"
	if info.IsDir() {
		what = "directory"
	}
	if err := reachable(folder, name, what); err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		found[name] = true
		return nil
	case info.IsDir():
		return addFolder(folder, name, all, found)
	}
	return fmt.Errorf("cannot embed irregular file %s", name)
}

// reachable refuses what lies in another module, behind a link, or among the files of a version control system.
func reachable(folder, name, what string) error {
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if elem := path.Base(dir); refused(elem) && dir == name {
			return fmt.Errorf("cannot embed %s %s: invalid name %s", what, name, elem)
		} else if refused(elem) {
			return fmt.Errorf("cannot embed %s %s: in invalid directory %s", what, name, elem)
		}
		if dir == name && what == "file" {
			continue
		}
		at := filepath.Join(folder, dir)
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return fmt.Errorf("cannot embed %s %s: in non-directory %s", what, name, dir)
		}
		if isModule(at) {
			return fmt.Errorf("cannot embed %s %s: in different module", what, name)
		}
	}
	return nil
}

func isModule(folder string) bool {
	info, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil && !info.IsDir()
}

// refused reports whether a module cannot contain a file or folder of this name.
func refused(name string) bool {
	return module.CheckFilePath(name) != nil || slices.Contains([]string{".bzr", ".hg", ".git", ".svn"}, name)
}

// addFolder adds the regular files below a folder. Hidden ones count only with all.
func addFolder(folder, name string, all bool, found map[string]bool) error {
	some := false
	err := fs.WalkDir(os.DirFS(folder), name, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if at != name && (refused(d.Name()) || !all && strings.ContainsAny(d.Name()[:1], "._")) {
			return skip(at, d)
		}
		if at != name && d.IsDir() && isModule(filepath.Join(folder, at)) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			found[at], some = true, true
		}
		return nil
	})
	if err == nil && !some {
		err = fmt.Errorf("cannot embed directory %s: contains no embeddable files", name)
	}
	return err
}

// skip leaves out a folder, or a hidden file. Any other file has a name that no module can contain, which Go does not pass over.
func skip(at string, d fs.DirEntry) error {
	switch name := d.Name(); {
	case d.IsDir():
		return fs.SkipDir
	case strings.ContainsAny(name[:1], "._"):
		return nil
	default:
		return fmt.Errorf("cannot embed file %s: invalid name %s", at, name)
	}
}
