//go:build !workspace

package eval

import (
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// TestCompleteBesideRefusedCells: what the lowerer knows is changed for a cell that is not compiled in the end, while completion asks it
// where a variable is. The race detector tells.
func TestCompleteBesideRefusedCells(t *testing.T) {
	p, modules := newConflicting(t)
	p.native.SetTools(native.Toolchain{Cache: modules.cache}) // which cannot compile
	if r := p.Run(cell.Request{Cell: 1, Count: 1, Code: "teams := map[string]int{\"Boca\": 1}"}); r.Err != nil {
		t.Fatal(r.Err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for i := range 20 {
			p.Run(cell.Request{Cell: int64(i + 2), Count: i + 2, Code: "%%native\nfresh := 1\n_ = fresh"})
		}
	}()
	const code = `teams["B"]`
	for {
		select {
		case <-over:
			return
		default:
			p.Complete(cell.Question{Code: code, Cursor: len(code) - 2})
		}
	}
}

// TestCompleteBesideCallbacks: maps are not read while a library may call what a cell has handed to it, and are when it no longer does.
func TestCompleteBesideCallbacks(t *testing.T) {
	tests := []struct{ name, begin, end string }{
		{"a timer's", "began, stop := make(chan bool), make(chan bool)\ntime.AfterFunc(0, func() { began <- true; <-stop })\n<-began", "close(stop)"},
		{"one that panics", "began, stop := make(chan bool), make(chan bool)\ntime.AfterFunc(0, func() { began <- true; <-stop; panic(1) })\n<-began", "close(stop)"},
		{"a server's", "server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))", "server.Close()"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := newConflicting(t)
			serial := 0
			run := func(code string) {
				t.Helper()
				serial++
				if r := p.Run(cell.Request{Cell: int64(serial), Count: serial, Code: code}); r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			const code = `teams["B"]`
			offered := func() int { return len(p.Complete(cell.Question{Code: code, Cursor: len(code) - 2}).Matches) }
			run("teams := map[string]int{\"Boca\": 1}")
			if offered() == 0 {
				t.Fatal("nothing is offered of an idle session")
			}
			run(tt.begin)
			if offered() != 0 {
				t.Error("the map is read")
			}
			run(tt.end)
			for deadline := time.Now().Add(10 * time.Second); offered() == 0; time.Sleep(time.Millisecond) { // polls: nobody is told of the end
				if time.Now().After(deadline) {
					t.Fatal("the map is never read again")
				}
			}
		})
	}
}
