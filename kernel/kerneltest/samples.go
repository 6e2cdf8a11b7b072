package kerneltest

import "cancha/kernel/client"

// Samples is code in the kernel's language, one cell each. A case whose sample is empty is skipped, and says so.
type Samples struct {
	Hello     string // prints "hello" on stdout
	Value     string // its value's text/plain is ValueText
	ValueText string
	Fail      string // fails at once
	SlowFail  string // fails after some 300 ms
	Pause     string // runs for some 500 ms
	Endless   string // prints something, then runs until it is interrupted
	Keep      string // sets a variable
	Kept      string // prints "kept" on stdout if the variable is set
	Lines     string // prints the numbers 0 to 99999, one a line
	Partial   string // prints "partial" without a newline, then runs for a second
	Mixed     string // stdout "1", a display, stdout "2", stderr "3", in this order
	Late      string // ends at once; a goroutine of it prints "late" some 50 ms later
	Show      string // shows a display with an id
	Update    string // updates it three times
	Animate   string // 100 times: clear output (wait), show a display
	Large     string // a display of 20 MB
	Page      string // shows something in the pager

	Deadly map[string]string // cells that end or break the process they run in, by what they do
	PID    string            // prints the id of that process

	Complete   Completion // one with letters outside the basic plane before the cursor
	Known      string     // a name that inspection knows
	Unknown    string     // one that it does not
	Whole      string     // complete code
	Unfinished string     // code that wants another line
	Invalid    string     // code that no further line can mend
	GoodExpr   string     // user expressions
	BadExpr    string
}

// Completion is a question and the answer that must be among its matches.
type Completion struct {
	Code       string
	Cursor     int // in code points
	Match      string
	Start, End int // in code points
}

// Target is a kernel under test.
type Target struct {
	Config  client.Config // Argv, Env, Dir; the suite chooses transport and signature
	Samples Samples
}
