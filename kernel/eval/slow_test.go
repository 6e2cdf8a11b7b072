//go:build !workspace

package eval

import (
	"testing"

	"cancha/internal/cellio"
	"cancha/internal/symbols"
	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// TestSlow tells which cells are compiled for what they may take.
func TestSlow(t *testing.T) {
	const slow, quick = true, false
	tests := []struct {
		name, code string
		want       bool
	}{
		{"counted", "for i := 0; i < 10_000; i++ { n++ }", slow},
		{"counted, short", "for i := 0; i < 9_000; i++ { n++ }", quick},
		{"counted, down", "for i := 9; i >= 0; i-- { n++ }", quick},
		{"counted, the wrong way", "for i := 0; i < 10; i-- { n++ }", slow},
		{"nested", "for range 200 { for range 200 { n++ } }", slow},
		{"endless", "for { n++ }", slow},
		{"up to a variable", "for i := 0; i < small; i++ { n++ }", quick},
		{"up to a large variable", "for i := 0; i < large; i++ { n++ }", slow},
		{"up to a variable that changes", "small = large\nfor i := 0; i < small; i++ { n++ }", slow},
		{"up to a length", "for i := 0; i < len(short); i++ { n++ }", quick},
		{"what an earlier cell has made", "for range short { n++ }", quick},
		{"much of an earlier cell", "for range long { n++ }", slow},
		{"what this cell makes anew", "short = make([]int, 1<<20)\nfor range short { n++ }", slow},
		{"what this cell lengthens", "short := append(short, long...)\nfor range short { n++ }", slow},
		{"what may be changed by its address", "p := &short\n*p = long\nfor range short { n++ }", slow},
		{"a field", "for range club.Players { n++ }", quick},
		{"a field of an element", "for range clubs[0].Players { n++ }", quick},
		{"a field that changes", "club.Players = nil\nfor range club.Players { n++ }", slow},
		{"a field of an element that changes", "clubs[0].Players = nil\nfor range clubs[0].Players { n++ }", slow},
		{"elements that change", "for i := range clubs { clubs[i].Players = append(clubs[i].Players, 1) }", quick},
		{"a map that grows", "for k := range table { table[k+1] = 1 }", slow},
		{"an own literal", "own := []int{1, 2, 3}\nfor range own { n++ }", quick},
		{"an own literal with an index", "own := []int{1 << 20: 1}\nfor range own { n++ }", slow},
		{"an own slice that is made", "own := make([]int, 96)\nfor i := range own { own[i] = i }", quick},
		{"an own slice that grows", "own := []int{1}\nown = append(own, long...)\nfor range own { n++ }", slow},
		{"a function's result", "for range strings.Fields(\"a b\") { n++ }", slow},
		{"after a function that may change all", "change()\nfor range short { n++ }", slow},
		{"after a variable's function", "later()\nfor range short { n++ }", slow},
		{"a channel", "for range make(chan int) { n++ }", slow},
		{"a literal called in place", "func() { n++ }()", quick},
		{"a goroutine", "go func() { n++ }()", quick},
		{"a deferred literal", "defer func() { n++ }()", quick},
		{"an endless goroutine", "go func() { for { n++ } }()", slow},
		{"a literal that is kept", "keep := func(x int) int { return x + 1 }\nkeep(1)", slow},
		{"a literal for a library", "strings.Map(func(r rune) rune { return r }, \"text\")", slow},
		{"a literal called once", "new(sync.Once).Do(func() { n++ })", quick},
		{"a loop in a literal called once", "new(sync.Once).Do(func() { for { n++ } })", slow},
		{"a time-out", "time.AfterFunc(time.Second, func() { n++ }).Stop()", quick},
		{"sorting little", "slices.SortFunc(short, func(a, b int) int { return a - b })", quick},
		{"sorting much", "slices.SortFunc(long, func(a, b int) int { return a - b })", slow},
		{"sorting what is not known", "slices.SortFunc(strings.Fields(\"b a\"), func(a, b string) int { return len(a) - len(b) })", slow},
		{"looking for one", "slices.IndexFunc(short, func(a int) bool { return a > 1 })", quick},
		{"a line's function", "plotter.NewFunction(func(x float64) float64 { return x * x })", quick},
		{"a progress", "forest.Config{Progress: func(done, total int) { n = done }}", quick},
		{"a progress that loops", "forest.Config{Progress: func(done, total int) { for range 1000 { n++ } }}", slow},
	}
	p := slowProgram(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := p.scope.Check("cell 2", tt.code)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.slow(c); got != tt.want {
				t.Errorf("got %t, want %t:\n%s", got, tt.want, tt.code)
			}
		})
	}
}

// slowProgram returns a program with some variables, and a compiler that knows of no cell.
func slowProgram(t *testing.T) *Program {
	t.Helper()
	out := cellio.NewOutlet(func(cellio.Frame) error { return nil })
	t.Cleanup(out.Close)
	var packages []Package
	for _, p := range symbols.Packages() {
		packages = append(packages, Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	p, err := New(Config{Symbols: symbols.Table(), Packages: packages, Export: symbols.Export, Outlet: out})
	if err != nil {
		t.Fatal(err)
	}
	const code = `import ("cancha/ml/forest"; "gonum.org/v1/plot/plotter")
n, small, large := 0, 10, 1 << 20
short, long := make([]int, 100), make([]int, 20_000)
table := map[int]int{1: 1}
type Club struct { Players []int }
club, clubs := &Club{make([]int, 11)}, []Club{{make([]int, 11)}}
later := func() {}
func change() { short = long }`
	if r := p.Run(cell.Request{Cell: 1, Count: 1, Code: code}); r.Err != nil {
		t.Fatal(r.Err.Traceback)
	}
	p.native.Engine = native.New(native.Toolchain{}, p.machine)
	return p
}
