// Package cell holds what passes between the kernel and an engine: the question, and how it was answered. It ends at the
// words: neither Jupyter's messages nor Go's semantics are known here. All types travel as JSON in cellio frames.
package cell

// Request asks an engine to run a cell.
type Request struct {
	Cell            int64             `json:"cell"`  // serial number of this execution, from 1, never reused by a kernel
	Count           int               `json:"count"` // Jupyter's execution_count, for names such as "cell 3" in errors
	Code            string            `json:"code"`
	Silent          bool              `json:"silent"` // show no result
	UserExpressions map[string]string `json:"user_expressions,omitempty"`
	Message         string            `json:"msg_id,omitempty"`   // of the message that asks for it
	Origin          string            `json:"cell_id,omitempty"`  // of the cell in its notebook, where the front end tells
	Subshell        bool              `json:"subshell,omitempty"` // it came on a subshell, and others may run beside it
	Carried         *Carried          `json:"carried,omitempty"`  // from the engine before, which asked for this one
}

// Status tells how a request ended.
type Status string

// How a request ended.
const (
	OK      Status = "ok"
	Failed  Status = "error"
	Aborted Status = "aborted" // not run, because a cell before it failed
)

// Result is the end of a cell. Err is set when Status is Failed.
type Result struct {
	Status          Status                    `json:"status"`
	Err             *Error                    `json:"error,omitempty"`
	Pages           []map[string]any          `json:"pages,omitempty"`            // MIME bundles for the pager
	UserExpressions map[string]map[string]any `json:"user_expressions,omitempty"` // each a Jupyter reply: status ok with data, or error
	Waiting         []string                  `json:"waiting,omitempty"`          // declarations that wait for names, each with what it waits for
	Replacement     *Replacement              `json:"replacement,omitempty"`      // the cell has not run, and is to run in another engine
}

// Replacement asks the kernel for the engine of the workspace in a folder, in place of the one that asks. Carried is handed to it.
type Replacement struct {
	Workspace string  `json:"workspace"`
	Carried   Carried `json:"carried"`
}

// Carried is what a session keeps when its engine is replaced: the modules that %get was given, import specs such as `_ "embed"`, the
// working folder, variables of the environment that cells have set or unset, who runs cells (as %engine has it), and what becomes of errors
// (as %errors has it).
type Carried struct {
	Gets    []string `json:"gets,omitempty"`
	Imports []string `json:"imports,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Set     []string `json:"set,omitempty"`   // NAME=VALUE
	Unset   []string `json:"unset,omitempty"` // names
	Mode    string   `json:"mode,omitempty"`
	Errors  string   `json:"errors,omitempty"`
}

// Error is a cell's failure in Jupyter's words.
type Error struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

func (e *Error) Error() string { return e.Name + ": " + e.Value }

// Question asks about code with a cursor. Cursor counts Unicode code points from the start of Code.
type Question struct {
	Code   string `json:"code"`
	Cursor int    `json:"cursor"`
	Detail int    `json:"detail,omitempty"` // inspection: 0 signature and doc, 1 source too
}

// Match is one way to complete. Type is function, method, variable, constant, type, module (a package), field, keyword, file or
// folder; in lines that are not Go also magic.
type Match struct {
	Text      string `json:"text"`
	Type      string `json:"type"`
	Signature string `json:"signature,omitempty"`
}

// Completion replaces the code points [Start, End) of the question by one of the matches.
type Completion struct {
	Matches []Match `json:"matches"`
	Start   int     `json:"start"`
	End     int     `json:"end"`
}

// Inspection is what is known of the name at a cursor: a MIME bundle with text/plain always, empty unless Found.
type Inspection struct {
	Found bool           `json:"found"`
	Data  map[string]any `json:"data"`
}

// Completeness tells whether code can run as it is: Status is complete, incomplete, invalid or unknown; Indent is what
// the next line should start with when it is incomplete.
type Completeness struct {
	Status string `json:"status"`
	Indent string `json:"indent,omitempty"`
}

// Ready is what an engine says of itself when it serves.
type Ready struct {
	PID       int    `json:"pid"`
	GoVersion string `json:"go_version"` // as runtime.Version, without "go"
	Engine    string `json:"engine"`     // Interpreted or Compiled
	Reason    string `json:"reason"`     // why it is not Compiled: one sentence
	Catches   bool   `json:"catches"`    // it reads what is written to its fd 1 and 2 itself, to put it in order with its frames
}

// What an engine does with cells.
const (
	Interpreted = "interpreted" // it interprets all of them
	Compiled    = "compiled"    // it can load what was compiled
)
