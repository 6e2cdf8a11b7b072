package support

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Stack is runtime.Stack.
func Stack(buf []byte, all bool) int {
	const most = 64 << 20
	long := make([]byte, 4*len(buf)+4<<10) // the names on the stack are longer than those that are shown
	n := runtime.Stack(long, all)
	for n == len(long) && all && n < most {
		long = make([]byte, 2*n)
		n = runtime.Stack(long, all)
	}
	return copy(buf, plainStack(string(long[:n]), 1))
}

// DebugStack is debug.Stack.
func DebugStack() []byte { return []byte(plainStack(string(debug.Stack()), 2)) }

// DebugPrintStack is debug.PrintStack.
func DebugPrintStack() { _, _ = os.Stderr.Write([]byte(plainStack(string(debug.Stack()), 2))) }

// frameName is a line of a stack that names a function, with what it was called with.
var frameName = regexp.MustCompile(`^(created by |)(\S.*?)(\([^()]*\)|)( in goroutine \d+|)$`)

// plainStack is the text of a stack with the names of functions that the cell's author has given. Of a goroutine that runs a cell's statements,
// what has called these is left out, as what calls main is in a program. Own is which of the first frames is of this package.
func plainStack(text string, own int) string {
	var out []string
	frame, skipping, inMain := 0, false, false
	former, plain, merged := "", "", false // the frame before
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		m := frameName.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, ":") || line == "":
			skipping = false
			out = append(out, line)
			continue
		case skipping:
			continue
		case strings.HasPrefix(line, "\t") || m == nil:
			out = append(out, line)
			continue
		}
		frame++
		if frame == own {
			i++ // with its place
			continue
		}
		statements := m[1] == "" && strings.HasSuffix(m[2], ".runᐧ")
		if statements && inMain { // which the cell has declared
			skipping = true
			continue
		}
		if name := PlainName(m[2]); name == plain && m[2] != former && !merged && m[1] == "" { // two functions are made of one
			former, merged = m[2], true
			i++
			continue
		}
		former, plain, merged = m[2], PlainName(m[2]), false
		inMain = strings.HasSuffix(m[2], ".mainᐧ")
		if statements || inMain {
			m[3] = "()"
		}
		out = append(out, m[1]+plain+m[3]+m[4])
		if statements && i+1 < len(lines) {
			out, skipping = append(out, lines[i+1]), true
		}
	}
	return strings.Join(out, "\n")
}
