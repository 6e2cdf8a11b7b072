//go:build !windows

package main

import (
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// figuresOnSignal logs, at SIGUSR1, what the process holds, until stop is called: its goroutines, and its heap in bytes after a
// collection. It is how a kernel that seems to grow is looked at from outside.
func figuresOnSignal(log *slog.Logger) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range signals {
			debug.FreeOSMemory()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			log.Info("figures", "goroutines", runtime.NumGoroutine(), "heap", memory.HeapAlloc)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
