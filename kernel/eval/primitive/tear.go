package primitive

import (
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"cancha/internal/cellio"
)

// An interrupt is a panic, and a panic that passes through a library's function leaves what that was about to do undone: a lock
// held, a once spent, a pool without its member. A cell's function that a library has called is therefore stopped only where all
// functions between it and the cell's own are known to bear that: those that compute, search, sort, walk and encode. Any other
// library gets its callback's result first; the cell stops when the library has returned.

// tearable are the packages through which an interrupt may pass, with all below them.
var tearable = []string{
	"archive", "bufio", "bytes", "cmp", "compress", "container", "context", "encoding", "errors", "fmt", "go", "hash", "image", "index",
	"io", "iter", "maps", "math", "path", "reflect", "regexp", "slices", "sort", "strconv", "strings", "text", "unicode",
	"gonum.org/v1", "golang.org/x/sync/errgroup",
	"testing", // which no panic reaches: see Machine.Test
	"cancha/ml", "cancha/runtime/chart", "cancha/runtime/table", "cancha/runtime/display",
	"cancha/runtime/live/comm", "cancha/runtime/live/widget", // they hold no lock while they call a handler
	"cancha/stream", "cancha/statsbomb/streaming", "cancha/jobs", "cancha/internal/callback", // they recover, and what they defer gives back
	// Not libraries, but how cells run; internal/symbols has the types by which a library calls methods of an interpreted cell's own types.
	"runtime", "internal", "github.com/traefik/yaegi", "cancha/kernel/eval", "cancha/internal/cellio", "cancha/internal/symbols",
}

// started are functions that a goroutine begins with, which do nothing after the cell's function but what they defer.
var started = []string{"sync.(*WaitGroup).Go.", "time.goFunc"}

// patience is how long the goroutines of a run are left alone after one of them was found to be where an interrupt may not stop
// it: looking takes 50 µs, and a loop asks in each turn.
const patience = 2 * time.Millisecond

type stay struct {
	run   *cellio.Run
	until time.Time
}

// mayTear tells whether an interrupt may stop the calling goroutine where it is.
func mayTear() bool {
	var pcs [512]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !passes(f) {
			return false
		}
		if !more {
			return true
		}
	}
}

func passes(f runtime.Frame) bool {
	if f.Function == "" || strings.HasPrefix(filepath.Base(f.File), "cell ") || strings.HasPrefix(f.Function, "cells/") || strings.HasPrefix(f.Function, "main.") {
		return true
	}
	for _, s := range started {
		if strings.HasPrefix(f.Function, s) {
			return true
		}
	}
	path := packageOf(f.Function)
	for _, p := range tearable {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// packageOf is the import path in a function's name.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}
