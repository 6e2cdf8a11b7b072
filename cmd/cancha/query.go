//go:build !windows

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"cancha/jupyter/headless"
	"cancha/jupyter/notebook"
	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// queryOptions is what "cancha query" is asked for.
type queryOptions struct {
	path       string
	parameters parameters
	progress   time.Duration // 0: never
	encrypt    bool
	told       io.Writer // of what becomes of the queries; nil: os.Stderr
}

func runQuery(ctx context.Context, args []string) error {
	o, err := parseQuery(args)
	if err != nil {
		return err
	}
	n, err := readProgram(o.path, o.parameters)
	if err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // output that nobody reads any more must not end the queries
	return stay(ctx, o, n)
}

func parseQuery(args []string) (queryOptions, error) {
	o := queryOptions{parameters: parameters{}}
	flags := newFlags("query", " FILE.go|NOTEBOOK", `Runs the queries of a notebook, or of a file of Go, as a process of their own, in the file's folder, and stays until they have
ended. The file has what stands in one cell: with or without "package main"; main is called. What cells print goes to
stdout, what becomes of the queries to stderr.

SIGTERM, ^C or the end of the terminal (SIGHUP) stops the queries in order, so that the next process goes on from their
checkpoints; a second SIGTERM or ^C ends the process at once. A cell or a query that fails stops the others, for 30 s at most,
and ends it with 1. Processes whose queries have one Group share the partitions.`)
	flags.Var(o.parameters, "p", "set a parameter of a notebook, `name=value`, as \"cancha run\" does, with a Go expression for what is no text; may be given again.\n"+
		"A file of Go has the environment")
	flags.DurationVar(&o.progress, "progress", 10*time.Second, "how often a line tells how far each query has come, as a `duration`; 0 is never")
	flags.BoolVar(&o.encrypt, "encrypt", false, encryptUsage)
	paths, err := parseMixed(flags, args)
	switch {
	case err != nil:
		return o, err
	case len(paths) != 1:
		return o, usageError{"query", errors.New("name one notebook, or one file of Go")}
	case o.progress < 0:
		return o, usageError{"query", errors.New("-progress: want a duration such as 10s, or 0")}
	}
	o.path = paths[0]
	return o, nil
}

// readProgram reads a notebook, or a file of Go as a notebook of one cell: a cell may be a whole program.
func readProgram(path string, p parameters) (*notebook.Notebook, error) {
	switch ext := filepath.Ext(path); {
	case ext == ".ipynb":
		return readNotebook(path, p)
	case ext == ".go" && len(p) > 0:
		return nil, fmt.Errorf("-p sets parameters of a notebook; %s can ask os.Getenv", path)
	case ext != ".go":
		return programOf(path, nil)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return programOf(path, source)
}

// programOf is a file of Go as a notebook of one cell.
func programOf(path string, source []byte) (*notebook.Notebook, error) {
	if filepath.Ext(path) != ".go" {
		return nil, fmt.Errorf("%s is neither a notebook (.ipynb) nor a file of Go (.go)", path)
	}
	if bytes.HasPrefix(source, []byte("#!")) { // the file is a command: #!/usr/local/bin/cancha query
		copy(source, "//")
	}
	if err := checkProgram(path, source); err != nil {
		return nil, err
	}
	return &notebook.Notebook{Cells: []*notebook.Cell{notebook.NewCode("file", string(source))}}, nil
}

// checkProgram refuses a file of a package that is no program. What has no package clause is a cell's text, and its faults are the cell's.
func checkProgram(path string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.PackageClauseOnly)
	if err == nil && file.Name.Name != "main" {
		return fmt.Errorf("%s is of package %s: \"cancha query\" runs package main, or what stands in a cell", path, file.Name.Name)
	}
	return nil
}

// stay runs the cells in a kernel of their own, and stays with their queries.
func stay(ctx context.Context, o queryOptions, n *notebook.Notebook) error {
	dir, err := os.MkdirTemp(client.Temporary(), "query-") // 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "queries")
	told := cmp.Or[io.Writer](o.told, os.Stderr)
	c, err := headlessly()
	if err != nil {
		return err
	}
	c.Env, c.Out, c.Encrypted = append(c.Env, queriesVariable+"="+socket), told, o.encrypt
	k, err := headless.Start(c, o.path)
	if err != nil {
		return err
	}
	defer k.Kill()
	s := &stayer{Runner: headless.NewRunner(c, filepath.Base(o.path)), follower: newFollower(socket, told, o.progress)}
	errs := newRedrawn(os.Stderr)
	s.Client, err = k.Connect(ctx, client.Options{Watch: func(m wire.Message) { printed(m, errs) }})
	if err != nil {
		return stopped(ctx, err)
	}
	err = s.run(ctx, n)
	s.lastWords(context.WithoutCancel(ctx))
	errs.end()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, k.Shutdown(end, s.Client))
}

// printed passes on what cells print, and their goroutines. Figures and tables are for those who look.
func printed(m wire.Message, errs io.Writer) {
	var s struct{ Name, Text string }
	if m.Header.Type != "stream" || json.Unmarshal(m.Content, &s) != nil {
		return
	}
	out := io.Writer(os.Stdout)
	if s.Name == "stderr" {
		out = errs
	}
	_, _ = io.WriteString(out, s.Text) // where nobody reads it, the queries go on
}

// stayer runs cells, and stays until the queries have ended that they have started.
type stayer struct {
	*headless.Runner
	follower *follower

	interrupt context.CancelCauseFunc // ends the running cell
	over      chan struct{}           // closed when no cell runs any more
	err       error                   // of the cells; read after over
}

// lastWords brings what was printed after the cells, and how an engine has died, by a cell that does nothing.
func (s *stayer) lastWords(ctx context.Context) {
	if s.follower.pid == 0 {
		return // no engine has said anything, and one that is being built would be waited for
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	reply, err := s.Client.ExecuteWith(ctx, "//", client.ExecuteOptions{Silent: true}, nil)
	if err == nil && reply.Status == cell.Failed { // the engine's death is this cell's error if it was seen just now
		fmt.Fprintln(s.Out, headless.Explain(reply.Err))
	}
}

// errAsked interrupts a cell because the process is to end.
var errAsked = errors.New("the process was asked to end")

// cellGrace is how long a cell may take to see that the queries have been stopped for which it waits.
const cellGrace = 2 * time.Second

func (s *stayer) run(ctx context.Context, n *notebook.Notebook) error {
	next, end := context.WithCancel(ctx)
	defer end()
	patient, interrupt := context.WithCancelCause(context.WithoutCancel(ctx)) // a cell is interrupted after the queries have been stopped
	defer interrupt(nil)
	s.interrupt = interrupt
	s.over = make(chan struct{})
	go func() { // ended by stop, which waits for it
		defer close(s.over)
		s.err = s.All(patient, next, n)
	}()
	err := s.follow(ctx)
	end()
	return errors.Join(err, s.stop(ctx, err))
}

// lookInterval is how often the queries are looked at: nobody tells another process that one has started or ended.
const lookInterval = 100 * time.Millisecond

// follow tells of the queries until all have ended and no cell runs, or something fails, or ctx ends.
func (s *stayer) follow(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	over := s.over // nil after it is closed
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-over:
			if over = nil; s.err != nil {
				return s.err
			}
		case <-tick.C:
		}
		live, err := s.follower.look(ctx)
		switch {
		case ctx.Err() != nil && (err == nil || errors.Is(err, context.Cause(ctx))): // and not a failure that was seen just before
			return nil
		case over != nil && errors.Is(err, errNoEngine): // not yet, or its end is the cell's error
		case err != nil:
			return err
		case over == nil && live == 0:
			return s.follower.none(s.Name)
		}
	}
}

// failurePatience is how long the others may take to end once a cell or a query has failed: whoever is to start the process again is not
// held up by a sink that never returns. A snapshot takes seconds at most.
const failurePatience = 30 * time.Second

// askedGrace is what is left of that once the process is asked to end meanwhile.
const askedGrace = 2 * time.Second

// lookPatience is how long an engine may take to tell how its queries have ended.
const lookPatience = 5 * time.Second

// stop stops the queries in order, then the running cell, and what that has started meanwhile. The error is of what the caller does
// not know yet.
func (s *stayer) stop(ctx context.Context, known error) error {
	all, cancel := waiting(ctx, known, failurePatience)
	defer cancel()
	s.follower.stop(all)
	grace := time.NewTimer(cellGrace)
	defer grace.Stop()
	select {
	case <-s.over:
	case <-grace.C:
		s.interrupt(errAsked)
		<-s.over
	}
	s.follower.stop(all)
	err := s.lastLook(all.Err() != nil)
	if errors.Is(err, errNoEngine) && (known != nil || !s.follower.lives()) { // that is known, or there has been none yet
		err = nil
	}
	if known == nil && !errors.Is(s.err, errAsked) {
		err = errors.Join(s.err, err)
	}
	return err
}

// waiting ends when queries that are stopped are waited for no longer: never where nothing has failed, since a second signal then ends the
// process.
func waiting(ctx context.Context, failure error, limit time.Duration) (context.Context, context.CancelFunc) {
	if failure == nil {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	all, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	asked := context.AfterFunc(ctx, func() { time.AfterFunc(askedGrace, cancel) })
	return all, func() { asked(); cancel() }
}

// lastLook tells how the queries have ended, and of those that were given up that they have not.
func (s *stayer) lastLook(givenUp bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	_, err := s.follower.look(ctx)
	if err == nil && givenUp {
		s.follower.leave()
	}
	return err
}
