//go:build !windows

package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"cancha/internal/cellio"
	"cancha/runtime/session"
	"cancha/runtime/session/conf"
)

// memoryVariable is where an engine finds how much memory it may take, as --memory has it.
const memoryVariable = "CANCHA_MEMORY"

// memoryInterval is how often an engine looks at how much it takes. A program that touches new memory as fast as it can passes
// its limit by some hundred megabytes in that time.
const memoryInterval = 20 * time.Millisecond

// limitMemory ends this process when it passes the limit that memoryVariable or the file of settings gives, if there is one, with a fatal
// error in words that the kernel tells the cell. The collector works harder when the limit comes near. A limit of the system on addresses would not
// do: Go reserves many more than it uses.
func limitMemory(out *cellio.Outlet, words io.Writer) error {
	limit, text, err := memoryLimit()
	if err != nil || limit == 0 {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
	if _, err := residentMemory(); err != nil {
		return nil // a system that does not say: the collector's limit has to do
	}
	go watchMemory(limit, func() { endForMemory(out, words, text) })
	return nil
}

// memoryLimit is the limit in bytes, and as it was written; 0 where there is none. A file of settings that cannot be read is told by who
// asks for the settings.
func memoryLimit() (limit int64, text string, err error) {
	if text = os.Getenv(memoryVariable); text != "" {
		if limit, err = session.ParseMemory(text); err != nil {
			return 0, "", fmt.Errorf("%s: %w", memoryVariable, err)
		}
		return limit, text, nil
	}
	c, err := session.Environment()
	if err != nil || c.Memory == 0 {
		return 0, "", nil
	}
	return c.Memory, conf.FormatBytes(c.Memory), nil
}

// watchMemory calls end when the process holds more memory than limit, and goes on holding it after a collection; a fifth
// above it at once, since a collection takes its time. It ends with the process.
func watchMemory(limit int64, end func()) {
	for {
		time.Sleep(memoryInterval) // polls: the system tells a process of its limits only by killing it
		held, err := residentMemory()
		if err != nil || held <= limit {
			continue
		}
		if held <= limit/5*6 {
			debug.FreeOSMemory()
			if held, err = residentMemory(); err != nil || held <= limit {
				continue
			}
		}
		end()
	}
}

// endForMemory ends the process as Go's runtime does when it gets no more memory.
func endForMemory(out *cellio.Outlet, words io.Writer, limit string) {
	flushed := make(chan struct{})
	go func() { out.Flush(); close(flushed) }()
	select {
	case <-flushed:
	case <-time.After(time.Second): // the kernel reads nothing
	}
	fmt.Fprintf(words, "fatal error: out of memory: the engine passed %s (--memory)\n", limit)
	os.Exit(2)
}

// residentMemory is how many bytes of memory the process holds.
func residentMemory() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm says %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
