// Package eval is the engine's side of the cell engine: it takes the text of a cell, checks it, lowers it, runs it and tells how
// that went. It ends at the frames of the hall: Jupyter is the kernel's business, and how values look is the display's.
//
// A cell passes three rooms: check (is it Go?), lower (in the part of Go that the back end runs faithfully), and a back end
// (interp). What the running cell calls of its own is in primitive. A cell with lines that are no Go (magic) goes that way piece by
// piece.
package eval

import (
	"cmp"
	"errors"
	"go/types"
	"io"
	"log"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/exithook"
	"cancha/internal/stack"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/interp"
	"cancha/kernel/eval/lower"
	"cancha/kernel/eval/magic"
	"cancha/kernel/eval/native"
	"cancha/kernel/eval/primitive"
)

// Package is a package that cells may import: its import path, the name in its package clause, and whether it belongs to
// the standard library.
type Package = check.Package

// Config is what a program is made of. Symbols, Packages and Export belong together: a package that is listed but has no
// symbols can be imported, and each use of it is refused.
type Config struct {
	// Symbols are the compiled packages: under "path/name" each exported name's value, a type as nil pointer to it, and under
	// "_T" the wrapper of interface T.
	Symbols map[string]map[string]reflect.Value
	// Packages are what cells may import.
	Packages []Package
	// Export opens a package's export data, as the gc importer of go/types wants them.
	Export func(path string) (io.ReadCloser, error)
	// Docs returns a package's doc comments, keyed "" for its own, "Name" and "Type.Name"; nil knows none.
	Docs func(path string) map[string]string
	// Outlet takes the results of cells.
	Outlet *cellio.Outlet
	// Asker asks the user on behalf of cells; with nil no cell can ask. Stdin makes reads of os.Stdin ask through it; nil leaves os.Stdin
	// alone.
	Asker *cellio.Asker
	Stdin Stdin
	// Render returns how the value of a cell's last expression is shown. Default: as fmt prints it.
	Render func(v any) cellio.Display
	// Logger is told of faults of the engine itself; nil is silent.
	Logger *slog.Logger
	// Native is what cells are compiled with; nil interprets all of them. NativeReason says why it is nil: one sentence.
	Native       *native.Toolchain
	NativeReason string
	// Grace is how long an interrupted cell may take to stop before it is left behind; default 5 s.
	Grace time.Duration
	// Slow is how long a cell is interpreted until it says so; default 2 s.
	Slow time.Duration
	// MaxStack is how many bytes of its stack a goroutine may use; default: most of what Go lets it have.
	MaxStack int
	// Modules adds modules to what cells may import; nil adds none.
	Modules Modules
	// OnImport lists packages that Modules compiles when a cell imports them, though no host's name is in front of their paths.
	OnImport []string
	// Embedded is the path of the package that reads what //go:embed names, see [check.Scope]; without it the directive is refused.
	Embedded string
	// Exit ends the process when os.Exit is called outside of cells; in a cell it ends that. Default os.Exit.
	Exit func(code int)
}

// backend runs lowered cells. The interpreter is one; compiled plugins can be another.
type backend interface {
	// Load adds a cell's declarations to the program and returns the function that runs its statements.
	Load(*lower.Unit) (run func(), err error)
	// LoadApart is Load for a cell that runs beside another one; it fails if this cell cannot.
	LoadApart(*lower.Unit) (run func(), err error)
	// Has tells whether a compiled package's exported name can be used.
	Has(path, name string) bool
	// Declare adds the declarations of variables.
	Declare(*lower.Unit) error
	// Variable returns a variable of the lowered program, the zero Value where there is none by that name.
	Variable(name string) reflect.Value
	// Share makes what a pointer points to the variable of that name.
	Share(name string, pointer reflect.Value)
	// Move has a lowered function, which looks at that variable, call a compiled one; false if it cannot.
	Move(variable string, f reflect.Value) bool
	// Use makes a compiled cell's package known to those that follow.
	Use(path string, symbols map[string]reflect.Value)
	// Stop sets the variable that makes lowered code ask whether it is to stop.
	Stop(on bool)
}

// grace is how long an interrupted cell may take to stop, unless the configuration says otherwise. After that it is left behind.
const grace = 5 * time.Second

// Program is the evaluator's memory: everything that the cells so far have declared and done. Its methods may be called by any
// goroutine; which cells run beside each other is told in turn.go.
type Program struct {
	scope     *check.Scope
	lowerer   *lower.Lowerer // changed under building and the scope's lock, read under either: completion holds the latter alone
	machine   *primitive.Machine
	back      backend
	native    compiler
	later     later
	modules   Modules
	onImport  []string
	archives  atomic.Pointer[map[string]string] // see Added
	rooms     map[string]any                    // see Room; building guards it
	outlet    *cellio.Outlet
	asker     *cellio.Asker
	stdin     Stdin
	render    func(v any) cellio.Display
	log       *slog.Logger
	grace     time.Duration
	slowAfter time.Duration

	mu       sync.Mutex
	tasks    []*task // cells on their way
	turn     turn
	building builder
	adding   builder  // a module: held while one is found and built
	handlers sync.Map // runs of comms' handlers → true
	names    sync.Map // function of the lowered program → marked
	sources  sync.Map // cell → its code
	mode     mode     // see SetEngine
	errors   mode     // see SetErrors
	unread   unread
	lastDir  string // before the last %cd
	session  session

	children children
	depth    depth
}

// New returns a program without cells. The process's standard logger, and with it slog's default, writes to the running
// cell's error output from now on, and libraries that call functions of cells ask this program about their panics, and os.Exit whether a cell has called it.
func New(c Config) (*Program, error) {
	p := &Program{modules: c.Modules, onImport: c.OnImport, outlet: c.Outlet, asker: c.Asker, stdin: c.Stdin, render: c.Render, log: c.Logger, grace: cmp.Or(c.Grace, grace), slowAfter: cmp.Or(c.Slow, slowAfter), building: newBuilder(), adding: newBuilder()}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.depth.large = uint64(cmp.Or(c.MaxStack, stack.Max)) / 8 * 3
	p.unread.off = func() bool { return p.errors.get() == errorsOff }
	trace := &primitive.Trace{Function: p.frame}
	p.machine = primitive.New(primitive.Config{Symbols: c.Symbols, Trace: trace, Traceback: p.traceback, Flush: p.flush, Exit: c.Exit, MaxStack: c.MaxStack})
	if p.render == nil {
		p.render = p.plain
	}
	engine, err := interp.New(p.withExits(c.Symbols), p.machine.Symbols(), trace)
	if err != nil {
		return nil, err
	}
	p.back = engine
	p.session.environ, p.session.others = os.Environ(), cellGoroutines(0)
	p.machine.OnStop(func(on bool) {
		engine.Stop(on)
		if p.native.available() {
			p.native.Stop(on)
		}
	})
	p.later.start()
	source := newToolchain().source
	p.scope = check.NewScope(c.Packages, p.export(c.Export))
	p.scope.Offer(c.OnImport)
	p.scope.Library = check.Library{Docs: c.Docs, Source: source}
	p.scope.Outside = p.outside()
	p.scope.Embedded = c.Embedded
	p.scope.Keeps = p.keeps
	p.machine.OnNewest(p.scope.TypeCell)
	p.machine.OnOrigin(p.origin)
	p.machine.OnUnread(p.unread.tell)
	p.lowerer = lower.New(lower.Config{
		Importer: p.scope.Importer(),
		FileSet:  p.scope.FileSet(),
		Has:      engine.Has,
		Alias:    engine.Alias,
		Pool:     poolSize,
		Position: p.scope.Position,
		Unmarked: raceDetector,
		Source:   source,
		Universe: p.scope.Universe(),
		Compiled: p.startCompiler(c),
	})
	log.SetOutput(cellio.Stderr)
	cellio.OnCalls(primitive.Host(p.machine))
	exithook.Set(p.machine.ExitedBy)
	return p, nil
}

// withExits puts the machine's own into the place of functions that end the process, for cells that use them as values.
func (p *Program) withExits(symbols map[string]map[string]reflect.Value) map[string]map[string]reflect.Value {
	symbols = maps.Clone(symbols)
	for key, own := range map[string]map[string]any{
		"os/os":     {"Exit": p.machine.Exit},
		"log/log":   {"Fatal": p.machine.LogFatal, "Fatalf": p.machine.LogFatalf, "Fatalln": p.machine.LogFatalln},
		"flag/flag": {"Parse": p.machine.FlagParse},
	} {
		if symbols[key] == nil {
			continue
		}
		symbols[key] = maps.Clone(symbols[key])
		for name, f := range own {
			symbols[key][name] = reflect.ValueOf(f)
		}
	}
	return symbols
}

func poolSize(kind types.BasicKind) int {
	if primitive.PoolKinds()[kind] {
		return primitive.PoolSize
	}
	return 0
}

func (p *Program) flush() {
	if p.outlet != nil {
		p.outlet.Flush()
	}
}

// plain shows a value as fmt prints it, cut where it is long.
func (p *Program) plain(v any) cellio.Display {
	text := p.machine.Text(v)
	if _, ok := v.(error); ok {
		text = "error: " + text
	}
	return cellio.Display{Data: map[string]any{"text/plain": text}, Metadata: map[string]any{}}
}

// Run runs a cell and returns when it has ended, or when it has been interrupted and did not end in time. The value of its
// last expression is sent through the outlet before Run returns.
func (p *Program) Run(r cell.Request) cell.Result { return p.Start(r)() }

// Start takes a cell in, so that interrupts reach it, and returns the function that runs it as Run does.
func (p *Program) Start(r cell.Request) (run func() cell.Result) {
	t := p.start(r)
	return func() cell.Result {
		defer p.done(t)
		return p.runTask(t)
	}
}

func (p *Program) runTask(t *task) cell.Result {
	code := magic.Parse(t.request.Code)
	p.sources.Store(t.name, t.request.Code)
	result := cell.Result{Status: cell.OK}
	if c := t.request.Carried; c != nil {
		if err := p.restore(t, c); err != nil {
			return cell.Result{Status: cell.Failed, Err: importError(err)}
		}
	}
	if code.Plain() {
		result.Err = p.runCode(t)
	} else {
		result.Pages, result.Err = p.runSteps(t, code)
	}
	if t.replacement != nil {
		return cell.Result{Status: cell.Failed, Err: result.Err, Replacement: t.replacement}
	}
	if result.Err != nil {
		result.Status = cell.Failed
		return result
	}
	result.UserExpressions, result.Waiting = p.userExpressions(t), p.Waiting()
	return result
}

// runCode compiles and runs the code of a cell and shows its value.
func (p *Program) runCode(t *task) *cell.Error {
	r := t.request
	if err := p.getImports(t, r.Code); err != nil {
		return importError(err)
	}
	unit, run, err := p.compile(t.name, r.Code, t)
	if err != nil {
		return compileError(err)
	}
	p.imported(r.Code)
	p.note(r.Cell, unit.Notes)
	if fault := p.execute(text{t, t.name, r.Code, unit.Body.Line, unit.Statements}, func() {
		run()
		if unit.Shows { // as part of the cell: what a value's methods do can be interrupted, and panic
			p.result(t, unit.Last)
		}
	}); fault != nil {
		return fault
	}
	return nil
}

var (
	loweredPosition = regexp.MustCompile(`(\d+):\d+: (.*)$`)
	cellLine        = regexp.MustCompile(`^//at (.*):(\d+)$`)
	loweredName     = regexp.MustCompile(`ᐧ\d+|\bprimitive\.pool(\w+)\[\S*\]`)
)

// refused finds the cell and the line that the back end's error about a cell means, and takes the lowered program's names out of its text.
func (p *Program) refused(cell string, err error) (in string, line int, text string) {
	text = err.Error()
	m := loweredPosition.FindStringSubmatch(text)
	if m == nil {
		return cell, 1, text
	}
	text = loweredName.ReplaceAllString(m[2], "$1")
	at, _ := strconv.Atoi(m[1])
	var source *interp.Error
	if !errors.As(err, &source) {
		return cell, 1, text
	}
	lines := strings.Split(source.Source, "\n")
	for i := min(at, len(lines)) - 1; i >= 0; i-- {
		if m := cellLine.FindStringSubmatch(lines[i]); m != nil {
			line, _ = strconv.Atoi(m[2])
			return m[1], line, text
		}
	}
	return cell, 1, text
}

// note tells the cell's author what differs from compiled Go.
func (p *Program) note(serial int64, notes []string) {
	if p.outlet == nil {
		return
	}
	for _, n := range notes {
		p.outlet.Write(serial, "stderr", []byte("note: "+cellio.Plain(n)+"\n"))
	}
}

// result takes the value of a cell's last expression: it fails the cell, or is shown.
func (p *Program) result(t *task, last check.Last) {
	values := p.judge(t.name, last, p.machine.Shown(t.request.Cell))
	if !t.request.Silent && !last.Quiet {
		p.show(t.request.Cell, values, last)
	}
}

// show sends the value of a cell's last expression.
func (p *Program) show(serial int64, values []any, last check.Last) {
	if p.outlet == nil || len(values) == 0 {
		return
	}
	d, ok := p.display(values, last)
	if !ok {
		return
	}
	if err := p.outlet.Emit(cellio.KindResult, serial, d); err != nil {
		p.outlet.Write(serial, "stderr", []byte("the value cannot be shown: "+err.Error()+"\n"))
	}
}
