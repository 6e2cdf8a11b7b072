package primitive

import (
	"log"
	"log/slog"
)

// The package functions of log. They use the standard logger, so its flags and prefix count; its output is set to the
// cell's error output when a program starts.

// callDepth is the number of frames between a cell's call and log.Output, as far as the interpreter has frames.
const callDepth = 2

// LogPrint is log.Print.
func (m *Machine) LogPrint(args ...any) { _ = log.Output(callDepth, m.Sprint(args...)) }

// LogPrintln is log.Println.
func (m *Machine) LogPrintln(args ...any) { _ = log.Output(callDepth, m.Sprintln(args...)) }

// LogPrintf is log.Printf.
func (m *Machine) LogPrintf(format string, args ...any) {
	_ = log.Output(callDepth, m.Sprintf(format, args...))
}

// LoggerPrintf is the method Printf of a log.Logger: a format may ask for the types of its operands, which package log cannot tell.
func (m *Machine) LoggerPrintf(l *log.Logger, format string, args ...any) {
	_ = l.Output(callDepth, m.Sprintf(format, args...))
}

// LoggerPanicf is the method Panicf of a log.Logger.
func (m *Machine) LoggerPanicf(l *log.Logger, format string, args ...any) {
	s := m.Sprintf(format, args...)
	_ = l.Output(callDepth, s)
	panic(s)
}

// LoggerFatalf is the method Fatalf of a log.Logger.
func (m *Machine) LoggerFatalf(l *log.Logger, format string, args ...any) {
	_ = l.Output(callDepth, m.Sprintf(format, args...))
	m.Exit(1)
}

// LoggerFatal is the method Fatal of a log.Logger.
func (m *Machine) LoggerFatal(l *log.Logger, args ...any) {
	_ = l.Output(callDepth, m.Sprint(args...))
	m.Exit(1)
}

// LoggerFatalln is the method Fatalln of a log.Logger.
func (m *Machine) LoggerFatalln(l *log.Logger, args ...any) {
	_ = l.Output(callDepth, m.Sprintln(args...))
	m.Exit(1)
}

// LogPanic is log.Panic.
func (m *Machine) LogPanic(args ...any) {
	s := m.Sprint(args...)
	_ = log.Output(callDepth, s)
	panic(s)
}

// LogPanicln is log.Panicln.
func (m *Machine) LogPanicln(args ...any) {
	s := m.Sprintln(args...)
	_ = log.Output(callDepth, s)
	panic(s)
}

// LogPanicf is log.Panicf.
func (m *Machine) LogPanicf(format string, args ...any) {
	s := m.Sprintf(format, args...)
	_ = log.Output(callDepth, s)
	panic(s)
}

// LogFatal is log.Fatal: it ends the cell.
func (m *Machine) LogFatal(args ...any) {
	_ = log.Output(callDepth, m.Sprint(args...))
	m.Exit(1)
}

// LogFatalln is log.Fatalln.
func (m *Machine) LogFatalln(args ...any) {
	_ = log.Output(callDepth, m.Sprintln(args...))
	m.Exit(1)
}

// LogFatalf is log.Fatalf.
func (m *Machine) LogFatalf(format string, args ...any) {
	_ = log.Output(callDepth, m.Sprintf(format, args...))
	m.Exit(1)
}

// logged is an operand that tells package slog what to write of it.
type logged struct {
	operand
	value func() slog.Value
}

// LogValue calls the declared type's method.
func (l logged) LogValue() slog.Value { return l.value() }
