package eval

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"cancha/kernel/cell"
	"cancha/kernel/eval/magic"
)

// completeCommand completes in a line that is not Go: the name of a magic, or its arguments.
func (p *Program) completeCommand(c *magic.Cell, k *magic.Command, at int) cell.Completion {
	head := c.Source[k.Start:at]
	switch {
	case k.Kind == magic.Help:
		return p.completeHelp(c, k, at)
	case k.Kind == magic.Shell:
		return replace(c.Source, at, lastWord(head[1:]), paths(lastWord(head[1:]), false))
	case !strings.ContainsAny(head, " \t"):
		return replace(c.Source, at, head, magics(head))
	}
	spec, _ := magic.Lookup(k.Name)
	word := lastWord(head)
	switch spec.Argument {
	case magic.Path:
		return replace(c.Source, at, word, paths(word, k.Name == "cd"))
	case magic.Module:
		if strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/") {
			return replace(c.Source, at, word, paths(word, true))
		}
	case magic.Variable:
		return replace(c.Source, at, word, variables(word))
	case magic.Engine:
		return replace(c.Source, at, word, words(word, engineNative, engineInterp, engineAuto))
	case magic.Errors:
		return replace(c.Source, at, word, words(word, errorsFail, errorsShow, errorsOff))
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

// paths are the files and folders that a path can become, folders alone if so asked; folders end in a separator. Hidden ones
// are offered when their dot is there.
func paths(head string, folders bool) []cell.Match {
	dir, base := filepath.Split(head)
	entries, err := os.ReadDir(cmp.Or(expandHome(dir), "."))
	if err != nil {
		return nil
	}
	var out []cell.Match
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" || len(out) == maxPaths {
			continue
		}
		info, err := os.Stat(filepath.Join(expandHome(dir), name)) // what a link leads to
		isDir := err == nil && info.IsDir()
		if folders && !isDir {
			continue
		}
		kind := "file"
		if isDir {
			name, kind = name+string(filepath.Separator), "folder"
		}
		out = append(out, cell.Match{Text: dir + name, Type: kind})
	}
	return out
}
