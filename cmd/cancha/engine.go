//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"cancha/cmd/internal/own"
	"cancha/internal/cellio"
	"cancha/internal/master"
	"cancha/internal/symbols"
	"cancha/kernel/cell"
	"cancha/kernel/engine"
	"cancha/kernel/eval"
	"cancha/kernel/eval/native"
	"cancha/kernel/eval/stdin"
	"cancha/kernel/workspace"
	"cancha/runtime/chart"
	"cancha/runtime/display"
	"cancha/runtime/session"
	"cancha/runtime/table"
)

// runEngine serves the kernel that started this process, on the connection that it inherited.
func runEngine(ctx context.Context, args []string) error {
	flags := newFlags("engine", "", "Runs cells for the kernel that started it: nothing to call by hand.")
	folder := flags.String("workspace", "", "load compiled cells, by what this `folder` describes")
	reason := flags.String("reason", "", "why there is no workspace, as a `sentence`")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	tools, err := openWorkspace(*folder)
	if err != nil {
		*reason = err.Error()
	}
	os.Args = os.Args[:1] // a cell that looks for arguments finds none
	parent := os.Getppid()
	// An interrupt is a frame; a terminal's ^C is the kernel's. A signal that is ignored would be ignored by all that cells start, too.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	signal.Reset(syscall.SIGTERM) // ends this process, whatever a cell does
	file := os.NewFile(engine.ConnFD, "kernel")
	stream, err := net.FileConn(file)
	if err != nil {
		return errors.New("no kernel on file descriptor 3: this command is started by \"cancha kernel\"")
	}
	file.Close() // FileConn duplicated it
	conn := cellio.NewConn(stream)
	outlet := cellio.NewOutlet(conn.Send)
	outlet.Keep(openJournal())
	cellio.Attach(outlet, chart.Render, table.Render)
	words := os.NewFile(inherited(engine.WordsFD), "words")
	cellio.DivertRuntime(words)
	if err := catchPast(outlet); err != nil {
		return err
	}
	if err := limitMemory(outlet, words); err != nil {
		return err
	}
	asker := cellio.NewAsker(outlet.Send)
	cellio.AttachAsker(asker)
	input, err := stdin.Take()
	if err != nil {
		return err
	}
	program, err := newProgram(eval.Config{Outlet: outlet, Asker: asker, Stdin: input}, tools, *folder, *reason)
	if err != nil {
		return err
	}
	ready := cell.Ready{PID: os.Getpid(), GoVersion: strings.TrimPrefix(runtime.Version(), "go"), Engine: cell.Interpreted, Reason: *reason, Catches: true}
	if tools != nil {
		ready.Engine = cell.Compiled
	}
	if err := leaveWills(); err != nil {
		return err
	}
	closeQueries, err := serveQueries(ctx)
	if err != nil {
		return err
	}
	defer closeQueries()
	if err := outlet.Emit(cellio.KindReady, 0, ready); err != nil {
		return err
	}
	defer startPage(ctx)()
	err = eval.Serve(conn, outlet, program)
	if errors.Is(err, eval.ErrConnection) {
		endWithKernel(parent)
	}
	return err
}

// openJournal maps what the kernel reads when this process has ended; nil where there is no such file.
func openJournal() *cellio.Journal {
	file := os.NewFile(engine.JournalFD, "journal")
	defer file.Close()
	journal, err := cellio.OpenJournal(file)
	if err != nil {
		return nil
	}
	return journal
}

// catchPast has the outlet take in what is written to fd 1 and 2, whose reading ends this process has inherited.
func catchPast(outlet *cellio.Outlet) error {
	var ends [2]*os.File
	for i, fd := range []uintptr{engine.StdoutFD, engine.StderrFD} {
		if err := syscall.SetNonblock(int(inherited(fd)), true); err != nil {
			return fmt.Errorf("no pipe on file descriptor %d: %w", fd, os.NewSyscallError("fcntl", err))
		}
		ends[i] = os.NewFile(fd, "output")
	}
	_, err := outlet.CatchPast(ends[0], ends[1]) // until the end of the process
	return err
}

// inherited is a descriptor that the commands of cells do not inherit.
func inherited(fd uintptr) uintptr {
	syscall.CloseOnExec(int(fd))
	return fd
}

// openWorkspace reads what compiling cells takes; nil without a folder.
func openWorkspace(folder string) (*native.Toolchain, error) {
	if folder == "" {
		return nil, nil
	}
	if err := canLoad(); err != nil {
		return nil, err
	}
	m, err := workspace.Open(folder)
	if err != nil {
		return nil, err
	}
	tools := &native.Toolchain{
		GoVersion: m.GoVersion, Compile: m.Compile, Link: m.Link, CC: m.CC, ImportConfig: m.Importcfg,
		Env: m.Env, Cache: m.Cache, Race: m.Race,
	}
	for _, added := range m.Modules {
		tools.Modules = append(tools.Modules, native.Module{Path: added.Path, Version: added.Version})
	}
	return tools, nil
}

// endWithKernel ends this process and what cells have started, if the kernel is gone: nobody else does when it was killed. A
// kernel that lives, though a cell has closed the connection to it, does this itself and tells why.
func endWithKernel(kernel int) {
	limit := time.Now().Add(time.Second)
	for os.Getppid() == kernel && time.Now().Before(limit) {
		time.Sleep(time.Millisecond) // polls: nobody tells a process that it has lost its parent
	}
	if os.Getppid() != kernel && syscall.Getpgrp() == os.Getpid() { // the kernel gives each engine a process group
		_ = syscall.Kill(0, syscall.SIGKILL) // the group cannot be gone: it has this process
	}
}

// newProgram adds to the cell engine's configuration what cells may import, how values are shown, and what cells are compiled with, or
// why they are not.
func newProgram(c eval.Config, tools *native.Toolchain, folder, reason string) (*eval.Program, error) {
	var added eval.Modules
	if tools != nil {
		m, err := newModules(newStore(), folder, *tools)
		if err != nil {
			return nil, err
		}
		added = m
	}
	var packages []eval.Package
	for _, p := range symbols.Packages() {
		packages = append(packages, eval.Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	c.Symbols, c.Packages, c.Export, c.Docs = symbols.Table(), packages, symbols.Export, symbols.Docs
	c.Native, c.NativeReason, c.Modules, c.OnImport = tools, reason, added, own.OnImport()
	c.Embedded = "cancha/runtime/embedded"
	c.Render, c.Logger = display.Of, slog.New(slog.NewTextHandler(os.Stderr, nil))
	program, err := eval.New(c)
	if err != nil {
		return nil, err
	}
	cellio.OnRoom(program.Room)
	master.OnSetting(session.Master)
	return program, nil
}
