package kerneltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// Engine runs cells of a language of one word a line, in process:
//
//	print T     eprint T     value T     a line on stdout, on stderr, the cell's value
//	part T                   text on stdout without a newline
//	display T   show ID T    update ID T     html
//	rich T      json T       a value in HTML and text; a display of JSON
//	clear       fail T       clear output; an error
//	sleep D     loop         wait until D has passed; until interrupted
//	lines N     large N      N lines on stdout, a display of N bytes
//	keep T      kept         remember T, print what was remembered
//	late T      page T       print T after the cell has ended; to the pager
//	crash                    panic in the engine's caller
//	ask T       password T   print what the user answers, "end" at the end of input
//	target T    open T ID    of comms: see Comm
//
// Cells run beside each other. Sink takes their frames. The zero value with a Sink is ready.
type Engine struct {
	Sink func(cellio.Frame)

	mu     sync.Mutex
	stops  map[int64]context.CancelFunc // of the running cells
	closed bool
	kept   string

	targets map[string]bool // of comms
	asker   *cellio.Asker   // see asks

	after sync.WaitGroup // output that comes after its cell's end
}

// Execute runs a cell.
func (e *Engine) Execute(ctx context.Context, r cell.Request) cell.Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	closed := e.began(r.Cell, cancel)
	defer e.ended(r.Cell)
	run := &run{engine: e, ctx: ctx, cell: r, out: cellio.NewOutlet(func(f cellio.Frame) error { e.Sink(f.Whole()); return nil })}
	defer run.finish()
	for line := range strings.Lines(r.Code) {
		word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if closed || ctx.Err() != nil {
			return fail("interrupted", "interrupted")
		}
		if result, ended := run.do(word, text); ended {
			return result
		}
	}
	return run.succeed()
}

// began enters what runs; closed tells that nothing shall.
func (e *Engine) began(id int64, stop context.CancelFunc) (closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stops == nil {
		e.stops = map[int64]context.CancelFunc{}
	}
	e.stops[id] = stop
	return e.closed
}

func (e *Engine) ended(id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.stops, id)
}

// run is the execution of one cell.
type run struct {
	engine *Engine
	ctx    context.Context
	cell   cell.Request
	out    *cellio.Outlet
	pages  []map[string]any
	late   []string
}

// do runs one line; ended is true where the cell ends with it.
func (r *run) do(word, text string) (result cell.Result, ended bool) {
	switch word {
	case "print":
		r.out.Write(r.cell.Cell, "stdout", []byte(text+"\n"))
	case "part":
		r.out.Write(r.cell.Cell, "stdout", []byte(text))
	case "eprint":
		r.out.Write(r.cell.Cell, "stderr", []byte(text+"\n"))
	case "value":
		r.emit(cellio.KindResult, cellio.Display{Data: plain(text)})
	case "display", "show", "update", "large", "json":
		r.display(word, text)
	case "rich":
		r.emit(cellio.KindResult, cellio.Display{Data: map[string]any{"text/html": text, "text/plain": text}})
	case "clear":
		r.emit(cellio.KindClear, cellio.Clear{Wait: text == "wait"})
	case "fail":
		return fail("failure", text), true
	case "crash":
		panic(text)
	case "ask", "password":
		return r.ask(word, text)
	case "sleep", "loop":
		return r.wait(word, text)
	case "lines":
		n, _ := strconv.Atoi(text)
		for i := range n {
			r.out.Write(r.cell.Cell, "stdout", fmt.Appendln(nil, i))
		}
	case "target":
		r.engine.target(text)
	case "open":
		target, id, _ := strings.Cut(text, " ")
		r.emit(cellio.KindCommOpen, cellio.Comm{ID: id, Target: target, Data: json.RawMessage(`{"made":"in a cell"}`), Metadata: json.RawMessage(`{"version":"1"}`)})
	case "keep":
		r.engine.keep(text)
	case "kept":
		r.out.Write(r.cell.Cell, "stdout", []byte(r.engine.recall()+"\n"))
	case "late":
		r.late = append(r.late, text)
	case "page":
		r.pages = append(r.pages, plain(text))
	case "":
	default:
		return fail("syntax", "no word "+word), true
	}
	return cell.Result{}, false
}

func (r *run) display(word, text string) {
	d := cellio.Display{Data: map[string]any{"text/html": text, "text/plain": text}}
	switch word {
	case "show", "update":
		id, rest, _ := strings.Cut(text, " ")
		d.Data["text/html"], d.Data["text/plain"], d.Transient.ID, d.Update = rest, rest, id, word == "update"
	case "json":
		d.Data = map[string]any{"application/json": json.RawMessage(text), "text/plain": text}
	case "large":
		n, _ := strconv.Atoi(text)
		d.Data = map[string]any{"image/png": strings.Repeat("A", n), "text/plain": "large"}
	}
	r.emit(cellio.KindDisplay, d)
}

func (r *run) wait(word, text string) (cell.Result, bool) {
	limit := time.Hour
	if word == "sleep" {
		limit, _ = time.ParseDuration(text)
	}
	select {
	case <-time.After(limit):
		return cell.Result{}, false
	case <-r.ctx.Done():
		return fail("interrupted", "interrupted"), true
	}
}

func (r *run) emit(kind cellio.Kind, body any) {
	if err := r.out.Emit(kind, r.cell.Cell, body); err != nil {
		panic(err) // the bodies above always marshal, and the sink never fails
	}
}

func (r *run) succeed() cell.Result {
	result := cell.Result{Status: cell.OK, Pages: r.pages, UserExpressions: map[string]map[string]any{}}
	for name, code := range r.cell.UserExpressions {
		if text, ok := strings.CutPrefix(code, "value "); ok {
			result.UserExpressions[name] = map[string]any{"status": "ok", "data": plain(text), "metadata": map[string]any{}}
		} else {
			e := fail("syntax", code).Err
			result.UserExpressions[name] = map[string]any{"status": "error", "ename": e.Name, "evalue": e.Value, "traceback": e.Traceback}
		}
	}
	return result
}

// finish hands all output over; what is late comes from a goroutine of its own.
func (r *run) finish() {
	r.out.Flush()
	if len(r.late) == 0 {
		r.out.Close()
		return
	}
	r.engine.after.Go(func() {
		defer r.out.Close()
		time.Sleep(50 * time.Millisecond) // not for an order: the point is that the cell has long ended
		for _, text := range r.late {
			r.out.Write(r.cell.Cell, "stdout", []byte(text+"\n"))
		}
	})
}

func plain(text string) map[string]any { return map[string]any{"text/plain": text} }

func fail(name, value string) cell.Result {
	return cell.Result{Status: cell.Failed, Err: &cell.Error{Name: name, Value: value, Traceback: []string{name + ": " + value}}}
}

// words are what Complete and Inspect know.
func words() []string {
	return strings.Fields("print part eprint value display show update clear fail fault sleep loop rich json lines large keep kept late page crash ask password")
}

// Complete completes the word before the cursor.
func (e *Engine) Complete(_ context.Context, q cell.Question) (cell.Completion, error) {
	before := []rune(q.Code)[:q.Cursor]
	start := q.Cursor
	for start > 0 && before[start-1] >= 'a' && before[start-1] <= 'z' {
		start--
	}
	c := cell.Completion{Start: start, End: q.Cursor}
	for _, w := range words() {
		if strings.HasPrefix(w, string(before[start:])) {
			c.Matches = append(c.Matches, cell.Match{Text: w, Type: "keyword"})
		}
	}
	return c, nil
}

// Inspect knows the words of the language.
func (e *Engine) Inspect(_ context.Context, q cell.Question) (cell.Inspection, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(q.Code), " ")
	for _, w := range words() {
		if w == word {
			return cell.Inspection{Found: true, Data: plain(fmt.Sprintf("%s: a word (detail %d)", w, q.Detail))}, nil
		}
	}
	return cell.Inspection{}, nil
}

// IsComplete finds a line incomplete that ends in a backslash, and text that is not UTF-8 or starts with ! invalid.
func (e *Engine) IsComplete(_ context.Context, code string) (cell.Completeness, error) {
	switch {
	case !utf8.ValidString(code), strings.HasPrefix(code, "!"):
		return cell.Completeness{Status: "invalid"}, nil
	case strings.HasSuffix(code, `\`):
		return cell.Completeness{Status: "incomplete", Indent: "\t"}, nil
	}
	return cell.Completeness{Status: "complete"}, nil
}

func (e *Engine) keep(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = text
}

func (e *Engine) recall() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.kept
}

// Interrupt stops the running cells.
func (e *Engine) Interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, stop := range e.stops {
		stop()
	}
}

// Info says nothing: an engine that is not ready.
func (e *Engine) Info() cell.Ready { return cell.Ready{} }

// Close ends the running cell.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.Interrupt()
	e.after.Wait()
	return nil
}

// content decodes a message's content into a map, for checks.
func content(raw json.RawMessage) map[string]any {
	var m map[string]any
	_ = json.Unmarshal(raw, &m) // nil shows in the check
	return m
}
