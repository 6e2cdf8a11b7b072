package primitive

import (
	"regexp"
	"strconv"
	"strings"

	"cancha/internal/cellio"
)

// Waits returns the library function that the goroutine which began a run is in, "" if it is in none. Of several it is the one called by
// the cell's own code, which is the one that the cell's text names.
func (m *Machine) Waits(run *cellio.Run) string {
	_, functions := goroutine(m.goroutineOf(run))
	found := ""
	for _, name := range functions {
		switch first, _, _ := strings.Cut(packageOf(name), "/"); {
		case isOwn(name):
			if found != "" {
				return shownFunction(found)
			}
		case first != "runtime" && first != "internal" && first != "reflect":
			found = name
		}
	}
	return ""
}

// Waiting tells whether the goroutine that began a run is waiting right now, for anything, instead of computing.
func (m *Machine) Waiting(run *cellio.Run) bool {
	state, _ := goroutine(m.goroutineOf(run))
	state, _, _ = strings.Cut(state, ",") // minutes follow
	switch state {
	case "", "running", "runnable", "preempted", "copystack", "GC assist wait", "GC assist marking":
		return false
	}
	return true
}

// WaitsAt is the line of a compiled cell's statements that the running cell is at, 0 where that is not known.
func (m *Machine) WaitsAt(run *cellio.Run, cell string) (line int) {
	at := regexp.MustCompile(`\t(?:.*/)?` + regexp.QuoteMeta(cell) + `:(\d+)(?: |$)`)
	for _, found := range at.FindAllStringSubmatch(stackText(m.goroutineOf(run)), -1) {
		line, _ = strconv.Atoi(found[1]) // the last one is the outermost function's
	}
	return line
}

// isOwn tells the functions in which cells run from those of libraries.
func isOwn(function string) bool {
	for _, p := range []string{"github.com/traefik/yaegi/", "cancha/kernel/eval", "cells/"} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}

// shownFunction is a function's name without the marks of the runtime: sync.Once.Do.
func shownFunction(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if i := strings.Index(name, ".func"); i > 0 {
		name = name[:i]
	}
	return strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name)
}
