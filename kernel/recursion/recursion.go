// Package recursion says which functions call each other in a recursion without end, given the innermost calls of a stack. It ends at
// the words: the engine finds the calls on a goroutine's stack, the kernel in the report of an engine that has died.
package recursion

import (
	"slices"
	"strings"
)

// Call is a call on a stack: of a function of the cells, or of a library.
type Call struct {
	Function string // of a cell, "f" or "T.M", "" for a literal among statements; of a library "fmt.Sprintf"
	Place    string // of a cell "cell 3:2", "" for a library
}

const (
	// window is how many calls are looked at.
	window = 256
	// most is how many functions are named.
	most = 8
)

// Describe says, in words and in the lines of a trace, what calls itself. The calls come innermost first.
func Describe(calls []Call) (text string, trace []string) {
	calls = repeated(calls[:min(len(calls), window)])
	var own, libraries []string
	var places []string
	for _, c := range calls {
		switch {
		case c.Place == "":
			libraries = add(libraries, packageOf(c.Function))
		default:
			own, places = add(own, name(c)), add(places, c.Place)
			trace = add(trace, line(c))
		}
	}
	text = "recursion without end"
	switch {
	case len(own) == 0 && len(libraries) == 0:
		return text + ": a function calls itself", nil
	case len(own) == 0:
		return text + " in package " + among(libraries) + ": most likely a value that contains itself", nil
	case len(own) == 1:
		text += ": " + own[0] + " calls itself"
	default:
		text += ": " + among(own) + " call each other"
	}
	if len(libraries) > 0 {
		text += " by way of package " + among(libraries)
	}
	if len(trace) > most {
		trace = append(trace[:most], "    …")
	}
	return text + " (" + strings.Join(places[:min(len(places), most)], ", ") + ")", append(trace, "    … again and again")
}

// repeated are the calls of functions that are among them more than once, with those between two calls of one function, which lead from the
// one to the other: without one that was called at the end, and returns. Where few calls are known, most of a cycle's come once.
func repeated(calls []Call) []Call {
	last := map[Call]int{}
	for i, c := range calls {
		last[c] = i
	}
	var often []Call
	until := -1 // here is the last call of a function that came before
	for i, c := range calls {
		if last[c] > i {
			until = max(until, last[c])
		}
		if i <= until {
			often = append(often, c)
		}
	}
	if slices.ContainsFunc(often, func(c Call) bool { return c.Place != "" }) || !slices.ContainsFunc(calls, func(c Call) bool { return c.Place != "" }) {
		return often
	}
	return calls // none comes twice from one line
}

func add(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func name(c Call) string {
	if c.Function == "" {
		return "a function literal"
	}
	return c.Function
}

func line(c Call) string {
	if c.Function == "" {
		return "    at " + c.Place
	}
	return "    in " + c.Function + " (" + c.Place + ")"
}

// among writes a list as people do.
func among(list []string) string {
	if len(list) > most {
		list = append(slices.Clone(list[:most]), "others")
	}
	last := len(list) - 1
	if last == 0 {
		return list[0]
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// behind are the packages that work for others: nobody looks for a recursion's cause there.
var behind = []string{"runtime", "reflect", "internal", "sync", "cancha", "github.com/traefik/yaegi", "plugin"}

// OfLibrary tells whether a trace of calls should have a function that belongs to no cell.
func OfLibrary(function string) bool {
	path := packageOf(function)
	return path != "" && !slices.ContainsFunc(behind, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// packageOf is the import path in a function's name.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}

// hidden stands in front of names that a compiled cell has to export, and small parts names that it makes.
const (
	hidden = "Ꞌᐧ"
	small  = "ᐧ"
)

// FunctionName turns the compiler's name of a compiled cell's function into the name that the cell gave it; "" for the cell's statements.
func FunctionName(function string) string {
	name := function[strings.LastIndexByte(function, '/')+1:]
	_, name, _ = strings.Cut(name, ".")
	if i := strings.Index(name, ".func"); i >= 0 {
		name = name[:i]
	}
	name = strings.NewReplacer("(*", "", ")", "", "[...]", "", hidden, "").Replace(name)
	if own, ok := strings.CutPrefix(name, "s"+small); ok { // of a function's second body, or a method that is declared anew
		own = own[:max(0, strings.LastIndex(own, small))]
		return strings.ReplaceAll(own, small, ".")
	}
	name = strings.TrimPrefix(name, small) // one that is exported
	if name == "main"+small {
		return "main"
	}
	if strings.Contains(name, small) {
		return ""
	}
	return name
}

// ofCell reports whether file is that of a compiled cell.
func ofCell(file string) bool {
	return strings.HasPrefix(file, "cell ") || strings.HasPrefix(file, "expression ")
}

// FromReport finds the calls of the goroutine that ran in a report of Go's runtime.
func FromReport(report string) []Call {
	_, goroutine, ok := strings.Cut(report, " [running]:\n")
	if !ok {
		return nil
	}
	goroutine, _, _ = strings.Cut(goroutine, "\n\n")
	goroutine, _, _ = strings.Cut(goroutine, "\n...") // what follows is the outer end
	var calls, promoted []Call
	function := ""
	for text := range strings.Lines(goroutine) {
		place, indented := strings.CutPrefix(text, "\t")
		if !indented {
			function = text[:max(0, strings.LastIndexByte(text, '('))]
			continue
		}
		if c, ok := CallOf(function, strings.TrimSpace(place)); ok {
			calls = append(calls, c)
		} else if strings.HasPrefix(function, "cells/") {
			promoted = append(promoted, Call{FunctionName(function), "a promoted method"})
		}
	}
	if len(calls) == 0 {
		return promoted // of a struct that embeds itself, behind an interface
	}
	return calls
}

// CallOf is the call of a function in a place, file and line, as the runtime writes them; ok is false where it tells a reader nothing.
func CallOf(function, place string) (c Call, ok bool) {
	file := place[strings.LastIndexByte(place, '/')+1:]
	if ofCell(file) {
		at, _, _ := strings.Cut(file, " +0x")
		return Call{FunctionName(function), at}, true
	}
	return Call{Function: function}, OfLibrary(function) && !strings.HasPrefix(function, "cells/")
}
