package eval

import (
	"cmp"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/magic"
	"cancha/kernel/eval/tester"
)

// completeCommand completes in a line that is not Go: the name of a magic, or its arguments.
func (p *Program) completeCommand(c *magic.Cell, k *magic.Command, at int) cell.Completion {
	head := c.Source[k.Start:at]
	switch {
	case k.Kind == magic.Help:
		return p.completeHelp(c, k, at)
	case k.Kind == magic.Shell:
		return replace(c.Source, at, lastWord(head[1:]), paths(lastWord(head[1:]), shellPath))
	case !strings.ContainsAny(head, " \t"):
		return replace(c.Source, at, head, magics(head))
	}
	spec, _ := magic.Lookup(k.Name)
	word := lastWord(head)
	switch spec.Argument {
	case magic.Path:
		return replace(c.Source, at, word, paths(word, pathOf(k)))
	case magic.Module:
		if strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/") {
			return replace(c.Source, at, word, paths(word, folderPath))
		}
	case magic.Variable:
		return replace(c.Source, at, word, variables(word))
	case magic.Test:
		return replace(c.Source, at, word, words(word, append(tester.Flags(), p.testNames()...)...))
	case magic.Engine:
		return replace(c.Source, at, word, words(word, engineNative, engineInterp, engineAuto))
	case magic.Errors:
		return replace(c.Source, at, word, words(word, errorsFail, errorsShow, errorsOff))
	case magic.Session:
		return replace(c.Source, at, word, words(word, append(p.sqlSessions(), "-o")...))
	case magic.Query:
		return replace(c.Source, at, word, words(word, streamWords()...))
	case magic.Magic:
		return replace(c.Source, at, word, magics("%"+strings.TrimLeft(word, "%")))
	}
	return replace(c.Source, at, "", nil)
}

// completeHelp completes the name in ?name.
func (p *Program) completeHelp(c *magic.Cell, k *magic.Command, at int) cell.Completion {
	word := strings.TrimLeft(c.Source[k.Start:at], "?")
	if strings.HasPrefix(word, "%") {
		return replace(c.Source, at, word, magics(word))
	}
	found := p.scope.Complete(word, utf8.RuneCountInString(word))
	before := utf8.RuneCountInString(c.Source[:at-len(word)])
	found.Start, found.End = found.Start+before, found.End+before
	return found
}

// replace offers matches in the place of the word that ends at an offset.
func replace(code string, at int, word string, matches []cell.Match) cell.Completion {
	end := utf8.RuneCountInString(code[:at])
	if len(matches) == 0 {
		return cell.Completion{Matches: []cell.Match{}, Start: end, End: end}
	}
	return cell.Completion{Matches: matches, Start: end - utf8.RuneCountInString(word), End: end}
}

func lastWord(text string) string { return text[strings.LastIndexAny(text, " \t=")+1:] }

// magics are those that a beginning, signs included, can become.
func magics(head string) []cell.Match {
	var out []cell.Match
	for _, s := range magic.All() {
		for _, form := range s.Forms() {
			if strings.HasPrefix(form, head) {
				out = append(out, cell.Match{Text: form, Type: "magic", Signature: s.Brief})
			}
		}
	}
	return out
}

func words(head string, all ...string) []cell.Match {
	var out []cell.Match
	for _, w := range all {
		if strings.HasPrefix(w, head) {
			out = append(out, cell.Match{Text: w, Type: "keyword"})
		}
	}
	return out
}

// variables are the names of environment variables.
func variables(head string) []cell.Match {
	var names []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return words(head, names...)
}

// maxPaths is how many paths are offered at most.
const maxPaths = 500

// pathKind is what a path may lead to, and who reads it.
type pathKind int

const (
	shellPath  pathKind = iota // a file or a folder; ~ is home
	folderPath                 // a folder; ~ is home
	goPath                     // a file or a folder; ~ is a name
)

func pathOf(k *magic.Command) pathKind {
	if k.Name == "cd" {
		return folderPath
	}
	return shellPath
}

// paths are the files and folders that a path can become; folders end in a separator. Hidden ones are offered when their dot is there.
func paths(head string, kind pathKind) []cell.Match {
	dir, base := filepath.Split(head)
	folder := dir
	if kind != goPath {
		folder = expandHome(dir)
	}
	entries, err := os.ReadDir(cmp.Or(folder, "."))
	if err != nil {
		return nil
	}
	var out []cell.Match
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" || len(out) == maxPaths {
			continue
		}
		info, err := os.Stat(filepath.Join(folder, name)) // what a link leads to
		isDir := err == nil && info.IsDir()
		if kind == folderPath && !isDir {
			continue
		}
		typ := "file"
		if isDir {
			name, typ = name+string(filepath.Separator), "folder"
		}
		out = append(out, cell.Match{Text: dir + name, Type: typ})
	}
	return out
}

// outside is what completion in Go asks about the session.
func (p *Program) outside() check.Outside {
	return check.Outside{Value: p.value, Exclude: p.exclude, Files: func(path string) []cell.Match { return paths(path, goPath) }}
}

// exclude keeps code of cells from beginning until release is called; ok is false where some may be running. Goroutines of libraries, which
// may call what cells have handed over, carry the label of the cell for which they were started.
func (p *Program) exclude() (release func(), ok bool) {
	if release, ok = p.machine.Exclude(); ok && cellGoroutines(0) > p.session.others {
		release()
		return nil, false
	}
	return release, ok
}

// value is what a variable of the session holds, the zero Value where neither back end knows it. The scope is locked.
func (p *Program) value(v *types.Var) reflect.Value { return p.variable(p.lowerer.Place(v)) }
