package kerneltest

import (
	"context"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// Samples is code in the kernel's language, one cell each. A case whose sample is empty is skipped, and says so.
type Samples struct {
	Hello     string // prints "hello" on stdout
	Value     string // its value's text/plain is ValueText
	ValueText string
	Fail      string // fails at once
	Fails     string // fails by its value, an error
	SlowFail  string // fails after some 300 ms
	Pause     string // runs for some 500 ms
	Endless   string // prints something, then runs until it is interrupted
	Keep      string // sets a variable
	Kept      string // prints "kept" on stdout if the variable is set
	Lines     string // prints the numbers 0 to 99999, one a line
	Partial   string // prints "partial" without a newline, then runs for a second
	Mixed     string // stdout "1", a display, stdout "2", stderr "3", in this order
	Slow      string // prints "tick" 200 times, about 5 ms apart, each on a line of its own
	Late      string // ends at once; a goroutine of it prints "late" some 50 ms later
	Show      string // shows a display with an id
	Update    string // updates it three times
	Animate   string // 100 times: clear output (wait), show a display
	Large     string // a display of 20 MB
	Rich      string // its value is text/html beside text/plain
	JSON      string // a display with an object as application/json
	Page      string // shows something in the pager

	Waits  map[string]string // cells that print something and then wait without end, by what for
	Deadly map[string]string // cells that end or break the process they run in, by what they do
	Panics string            // a goroutine of it panics with "boom"
	PID    string            // prints the id of that process

	Questions Questions // cells that ask the user
	Comms     Comms     // cells that use comms

	Complete    Completion        // one with letters outside the basic plane before the cursor
	Completes   []Completion      // others
	Nothing     []Completion      // places where nothing may be completed: in text, in a comment
	Known       string            // a name that inspection knows
	KnownSource string            // a part of that name's source
	Unknown     string            // one that it does not
	Whole       []string          // complete code
	Unfinished  []string          // code that wants another line
	Indents     map[string]string // indent of each of Unfinished; nil: any
	Invalid     []string          // code that no further line can mend
	GoodExpr    string            // user expressions
	BadExpr     string

	Ignored string // what the log says of a message that is none
}

// Completion is a question and the answer that must be among its matches.
type Completion struct {
	Code       string
	Cursor     int // in code points
	Match      string
	Start, End int      // in code points
	Hidden     []string // what must not be among them
}

// Target is a kernel under test.
type Target struct {
	Config  client.Config // Argv, Env, Dir, Encrypted; the suite chooses transport and signature
	Samples Samples
	Sockets Sockets // nil: those of kernel/zmq
}

// Sockets opens the suite's connections to a kernel.
type Sockets interface {
	client.Sockets
	Requester(ctx context.Context, at wire.Endpoint) (client.Conn, error)
}

func (t Target) sockets() Sockets {
	if t.Sockets == nil {
		return client.Own{}
	}
	return t.Sockets
}
