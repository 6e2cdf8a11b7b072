// Package support is what compiled cells call: channel operations that an interrupt ends, and the places of the session's
// variables. It is linked into each cell's plugin with all that it imports, so both stay small (package os alone would make linking take a
// third longer); what the operations mean is the machine's business.
package support

import (
	"io"
	"io/fs"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Machine is what compiled cells ask of the engine.
type Machine interface {
	// Check stops the calling goroutine if its cell has been interrupted.
	Check()
	// Done is closed when the calling goroutine's cell is interrupted; nil where that is never.
	Done() <-chan struct{}
	// Interrupted stops the calling goroutine as Check does, and does not return. The result is for the panic statement that
	// it stands in.
	Interrupted() any
	// Stack returns where the calling goroutine's stack lies.
	Stack() (lo, hi uintptr)
	// Kept tells that a function was called in its old form though a later cell has declared it anew.
	Kept(function string)
	// Recovered returns what recover returned, nil for an interrupt, which goes on.
	Recovered(p any) any
	// Began registers the calling goroutine as one of its cell; Ended, deferred with what Began returned, reports its panic
	// to the cell and keeps it from ending the process.
	Began() (goroutine any)
	Ended(goroutine any)
	// Called begins a function that compiled code may call on a goroutine of its own. Left, deferred there, ends it: the library recovers
	// panics. Caught is for one that a goroutine begins with, and does what Ended does.
	Called()
	Left()
	Caught()
	// Test runs a test's function so that a panic fails the test. Bubble does the same in a synctest bubble. Fuzz returns a fuzz test's
	// function that does so.
	Test(t Tester, f func())
	Bubble(t Tester, f func())
	Fuzz(f any) any
	// Unread tells the user of an error that a variable was set to and that nothing reads.
	Unread(name string, err error)
	// Ran takes how far the cell has come.
	Ran(cell int64, n int)
	// ShowOf returns the function that takes the values of the cell's last expression.
	ShowOf(cell int64) func(values ...any)

	// Stdout and Stderr are the cell's output.
	Stdout() Stream
	Stderr() Stream
	// Writer is the same in the place of a kept os.Stdout or os.Stderr.
	Writer(w io.Writer) io.Writer
	// These stand for functions of the standard library that a cell's run has to know of, and for print and println.
	Print(args ...any) (int, error)
	Println(args ...any) (int, error)
	Printf(format string, args ...any) (int, error)
	Sprint(args ...any) string
	Sprintln(args ...any) string
	Sprintf(format string, args ...any) string
	Fprint(w io.Writer, args ...any) (int, error)
	Fprintln(w io.Writer, args ...any) (int, error)
	Fprintf(w io.Writer, format string, args ...any) (int, error)
	Append(b []byte, args ...any) []byte
	Appendln(b []byte, args ...any) []byte
	Appendf(b []byte, format string, args ...any) []byte
	Errorf(format string, args ...any) error
	BuiltinPrint(args ...any)
	BuiltinPrintln(args ...any)
	Interface(x any) any
	Exit(code int)
	LogFatal(args ...any)
	LogFatalln(args ...any)
	LogFatalf(format string, args ...any)
	Sleep(d time.Duration)
	Lock(l any)
	RLock(l *sync.RWMutex)
	WaitGroupWait(wg *sync.WaitGroup)
	CondWait(c *sync.Cond)
	// The methods of an *exec.Cmd, which is not named here: each cell would be linked with its package.
	CmdStart(cmd any) error
	CmdRun(cmd any) error
	CmdWait(cmd any) error
	CmdOutput(cmd any) ([]byte, error)
	CmdCombinedOutput(cmd any) ([]byte, error)
}

// Stream is what cells can do with os.Stdout and os.Stderr.
type Stream interface {
	Write(p []byte) (int, error)
	WriteString(s string) (int, error)
	Sync() error
	Close() error
	Name() string
	Fd() uintptr
	Stat() (fs.FileInfo, error)
}

// Recv is <-ch.
func Recv[T any](m Machine, ch <-chan T) T {
	v, _ := Recv2(m, ch)
	return v
}

// Recv2 is v, ok := <-ch.
func Recv2[T any](m Machine, ch <-chan T) (v T, ok bool) {
	select {
	case v, ok = <-ch:
		return v, ok
	default:
	}
	select {
	case v, ok = <-ch:
		return v, ok
	case <-m.Done():
		panic(m.Interrupted())
	}
}

// Sender is a channel to send to. It is a value of its own so that what is sent is converted to the channel's element type.
type Sender[T any] struct {
	m  Machine
	ch chan<- T
}

// To returns the sender of a channel.
func To[T any](m Machine, ch chan<- T) Sender[T] { return Sender[T]{m, ch} }

// Send is ch <- v.
func (s Sender[T]) Send(v T) {
	select {
	case s.ch <- v:
		return
	default:
	}
	select {
	case s.ch <- v:
	case <-s.m.Done():
		panic(s.m.Interrupted())
	}
}

// Sent is a value on its way to a channel that is evaluated after the calls in the value, as the variable ch is in ch <- f().
type Sent[T any] struct {
	m Machine
	v T
}

// Value returns what is to be sent.
func Value[T any](m Machine, v T) Sent[T] { return Sent[T]{m, v} }

// To is ch <- v.
func (s Sent[T]) To(ch chan<- T) { To(s.m, ch).Send(s.v) }

// Host is what a compiled cell gets when it is loaded, and what it tells in return.
type Host struct {
	Machine Machine
	// Place returns the pointer to a variable of the session; t is its type as the cell sees it.
	Place func(name string, t reflect.Type) reflect.Value

	Run       func()                   // the cell's statements
	Stop      *uint32                  // set while a cell is to be interrupted
	Symbols   map[string]reflect.Value // by exported name: what other cells may use
	Functions map[string]Function      // by name: "f" or "T.m"
	Values    map[string]reflect.Value // the functions themselves, their receivers in front
}

// Flag is a uint32 under a name that no cell can give another meaning.
type Flag = uint32

// Function is how the engine reaches a function of a compiled cell. Flag is not zero while the function has to look at To
// and at the machine; it is nil for functions that look at To always. To is a pointer to a variable of the function's own type:
// a function in it is called instead.
type Function struct {
	Flag *uint32
	To   reflect.Value
}

// Symbol makes v known to other cells; a type is given as a nil pointer to it.
func (h *Host) Symbol(name string, v any) { h.Symbols[name] = reflect.ValueOf(v) }

// Function makes a function and its switches known.
func (h *Host) Function(name string, f any, flag *uint32, to any) {
	h.Functions[name], h.Values[name] = Function{flag, reflect.ValueOf(to)}, reflect.ValueOf(f)
}

// Variable returns the place of a variable of the session. The engine has made sure that what is there has the memory layout
// of T; its type may be an earlier declaration of the same.
func Variable[T any](h *Host, name string) *T {
	p := h.Place(name, reflect.TypeFor[T]())
	if v, ok := p.Interface().(*T); ok {
		return v
	}
	return (*T)(p.UnsafePointer())
}

// Zero sets a variable to its type's zero value.
func Zero[T any](p *T) { *p = *new(T) }

// HiddenMark is the prefix that compiled cells put before the names of unexported methods: an upper-case letter, which exports them, and a
// second letter, because no text that a cell prints has both.
const HiddenMark = "Ꞌᐧ"

// Recovered is recover() in a cell, given what Go's recover returned. In the runtime's error about a missing method, the method gets the
// name that it has in the cell.
func Recovered(m Machine, p any) any {
	p = m.Recovered(p)
	if e, ok := p.(*runtime.TypeAssertionError); ok {
		f := reflect.ValueOf(e).Elem().FieldByName("missingMethod")
		if f.IsValid() && f.Kind() == reflect.String && strings.HasPrefix(f.String(), HiddenMark) {
			name := strings.TrimPrefix(f.String(), HiddenMark)
			reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem().SetString(name)
		}
	}
	return p
}

// Loaded tells whether a flag is set.
func Loaded(flag *uint32) bool { return atomic.LoadUint32(flag) != 0 }
