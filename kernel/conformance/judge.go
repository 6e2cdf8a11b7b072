package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cancha/kernel/cell"
)

// verdict is how cells did beside the compiled program.
type verdict string

const (
	equal   verdict = "equal"
	refused verdict = "refused"  // with an error that names what cannot be run
	wrong   verdict = "WRONG"    // they did something else
	tooSlow verdict = "too slow" // not done in time
	died    verdict = "DIED"     // the engine ended, and the compiled program does not
)

func verdicts() []verdict { return []verdict{equal, refused, tooSlow, wrong, died} }

// judge compares what cells did with what the compiled program did. detail tells the first difference.
func judge(p played, want behaviour) (v verdict, detail string) {
	if p.late {
		return tooSlow, ""
	}
	got := behaviour{Stdout: p.stdout, Stderr: withoutNotes(p.stderr)}
	if f := p.failure; f != nil {
		switch {
		case refusal(f):
			return refused, strings.Join(f.Traceback, "\n")
		case f.Name == "panic":
			got.Exit, got.Panic = 2, f.Value
		case f.Name == "engine died":
			got.Exit, got.Panic = exitStatus(f.Value)
		case f.Name == "exit status":
			got.Exit, _ = strconv.Atoi(f.Value)
		default:
			got.Exit, got.Panic = 2, f.Error()
		}
	}
	detail = difference(got, want)
	switch {
	case detail == "":
		return equal, ""
	case p.failure != nil && p.failure.Name == "engine died" && want.Exit == 0:
		return died, strings.Join(p.failure.Traceback, "\n")
	}
	return wrong, detail
}

// refusal reports whether f is the error of a cell that was not run, or not to its end, because of what it would do.
func refusal(f *cell.Error) bool { return f.Name == "compile error" || f.Name == "refused" }

var exitText = regexp.MustCompile(`exit status (\d+)`)

// exitStatus is how an engine ended, read from the kernel's report.
func exitStatus(report string) (exit int, panicked string) {
	m := exitText.FindStringSubmatch(report)
	if m == nil {
		cause, _, _ := strings.Cut(report, "; all variables are lost")
		return 2, strings.TrimPrefix(strings.TrimPrefix(cause, "panic: "), "fatal error: ")
	}
	exit, _ = strconv.Atoi(m[1])
	return exit, ""
}

// note matches what the kernel itself tells a cell's author.
var note = regexp.MustCompile(`(?m)^note: .*\n`)

func withoutNotes(stderr string) string { return note.ReplaceAllString(stderr, "") }

// What differs from one process to the next: addresses, and the times that package log writes.
var (
	address = regexp.MustCompile(`0x[0-9a-f]{5,}`)
	clock   = regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `)
)

// difference tells the first thing that differs, "" for nothing.
func difference(got, want behaviour) string {
	mask := func(s string) string {
		return clock.ReplaceAllString(address.ReplaceAllString(strings.TrimSpace(s), "ADDRESS"), "TIME ")
	}
	if d := firstDifference(mask(got.Stdout), mask(want.Stdout)); d != "" {
		return "stdout " + d
	}
	g, w := mask(got.Panic), mask(want.Panic)
	if !samePanic(g, w) || got.Exit != want.Exit {
		return fmt.Sprintf("ended with %s, want %s", ending(got), ending(want))
	}
	if d := firstDifference(mask(got.Stderr), mask(want.Stderr)); d != "" {
		return "stderr " + d
	}
	return ""
}

func ending(b behaviour) string {
	if b.Panic != "" {
		return strconv.Quote(b.Panic)
	}
	return fmt.Sprintf("exit status %d", b.Exit)
}

// elsewhere matches how the runtime writes a value that is no basic type, error or Stringer: its type and where it is.
var elsewhere = regexp.MustCompile(`^\(.*\) ADDRESS$`)

// samePanic compares the values of two panics. The runtime indents the lines of a value, and says after it that it was recovered and thrown
// again. It lists the panics that deferred calls have added, where the kernel reports the last. Of a value that it does not print it gives
// the address, where the kernel prints the value.
func samePanic(got, want string) bool {
	got, want = strings.TrimSpace(got), strings.ReplaceAll(want, "\n\t", "\n")
	if at := strings.LastIndex(want, "\npanic: "); at >= 0 {
		want = want[at+len("\npanic: "):]
	}
	want, _, _ = strings.Cut(want, " [recovered")
	return got == want || got != "" && elsewhere.MatchString(want)
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(g) {
			a = strconv.Quote(cut(g[i]))
		}
		if i < len(w) {
			b = strconv.Quote(cut(w[i]))
		}
		if a != b {
			return fmt.Sprintf("line %d: got %s, want %s", i+1, a, b)
		}
	}
	return "in a long line"
}

func cut(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
