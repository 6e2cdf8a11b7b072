package eval_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// heap is what the collector finds in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemory bounds what a cell leaves behind in an interpreted session of a thousand cells: of statements nothing that
// counts, of declarations what they are.
func TestMemory(t *testing.T) {
	once(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if tools(t) != nil {
		t.Skip("about interpreted cells")
	}
	tests := []struct {
		name  string
		limit int64 // bytes a cell
		cell  func(i int) string
	}{
		{"assignment", 5000, func(i int) string { return "price = float64(counter) + 1" }},
		{"print", 5000, func(i int) string { return `fmt.Println("row", counter, price)` }},
		{"loop", 5000, func(i int) string { return "for i, v := range list { if v > 1 { counter += add(i, v) } }\ncounter" }},
		{"refused", 5000, func(i int) string { return "counter = nope" }},
		{"variable", 12_000, func(i int) string { return fmt.Sprintf("v%d := counter", i) }},
		{"function", 60_000, func(i int) string { return fmt.Sprintf("func f%d(n int) int { return n + %d }\nf%d(1)", i, i, i) }},
		{"type", 80_000, func(i int) string {
			return fmt.Sprintf("type T%d struct { a, b int }\nfunc (t T%d) Sum() int { return t.a + t.b }", i, i)
		}},
	}
	n := newNotebook(t)
	n.ok("counter, price, list := 0, 1.5, []int{1, 2, 3}", "func add(a, b int) int { return a + b }", "add(1, 2)\nfmt.Println(price)")
	goroutines := runtime.NumGoroutine()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const warm, cells = 64, 512 // whole rooms of the interpreter
			var start int64
			var first, last []time.Duration
			for i := range warm + cells {
				if i == warm {
					n.forget()
					start = heap()
				}
				begin := time.Now()
				n.run(tt.cell(i))
				switch took := time.Since(begin); {
				case i >= warm && i < warm+50:
					first = append(first, took)
				case i >= warm+cells-50:
					last = append(last, took)
				}
			}
			n.forget()
			per := (heap() - start) / cells
			slices.Sort(first)
			slices.Sort(last)
			t.Logf("%d bytes a cell, %v for the first, %v for the last", per, first[25], last[25])
			if per > tt.limit {
				t.Errorf("a cell left %d bytes, want at most %d", per, tt.limit)
			}
		})
	}
	if now := runtime.NumGoroutine(); now > goroutines+5 {
		t.Errorf("%d goroutines at the start, %d at the end", goroutines, now)
	}
}

// forget drops what the test itself has kept of the cells' output.
func (n *notebook) forget() {
	n.out.Flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frames = nil
}
