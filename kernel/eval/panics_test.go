package eval_test

import (
	"strings"
	"testing"
)

// TestIndexPanicsKeepVariables: what a loop of statements has computed is there when an index in it panics.
func TestIndexPanicsKeepVariables(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("xs, text := []int{3, 1, 4, 1, 5}, \"hello\"\nrows := [][]int{{1, 2}, {3, 4}, {5}}\nvar counts [128]int\nfunc pick(i int) int { xs := [3]int{4, 5, 6}; return xs[i] }")
	tests := []struct{ code, show, want string }{
		{"total, last := 0, 0\nfor i := 0; i < 900; i++ {\n\tlast = i\n\ttotal += xs[i]\n}", "total, last", "14 5\n"},
		{"sum, at := 0, 0\nfor r := range rows {\n\tfor c := 0; c < 2; c++ {\n\t\tat++\n\t\tif rows[r][c] > 0 {\n\t\t\tsum += rows[r][c]\n\t\t}\n\t}\n}\nfor range 100_000 { at++ }", "sum, at", "15 6\n"},
		{"n, k := 0, 7\nfor i := 0; i < 5000; i++ { n += i; xs[k-i] = n }", "n, k, xs", "0 7 [3 1 4 1 5]\n"},
		{"m := 0\nfor i := range 30_000 { m += i & 3; if i == 2500 { xs[i] = 1 } }", "m", "3750\n"},
		{"found := 0\nfor i := 0; i < 30_000; i++ { if i < len(xs) && xs[i] > 2 { found += xs[i] }; if i > 9 && text[i] == 'x' { found = 0 } }", "found", "12\n"},
		{"kept := []int{}\nif len(xs) > 0 {\n\tfor i := range 30_000 { kept = append(kept, i); if i == 1500 { var row [3]int; row[i%4+3]++ } }\n}", "len(kept)", "1501\n"},
		{"picked, turns := 0, 0\nfor i := 0; i < 300; i++ { turns++; picked += pick(i) }", "picked, turns", "15 4\n"},
		{"deep := 0\nfor i := 0; i < 3000; i++ { for j := 0; j < 10; j++ { deep++; xs[min(j, 4)] = i; if i == 2000 { xs[j+5]++ } } }", "deep", "20001\n"},
	}
	for _, tt := range tests {
		if r := n.run(tt.code); r.Err == nil || !strings.Contains(r.Err.Value, "index out of range") {
			t.Errorf("%s\ngot %+v, want an index out of range", tt.code, r)
		}
		before := n.stream("stdout")
		n.ok("fmt.Println(" + tt.show + ")")
		if got := strings.TrimPrefix(n.stream("stdout"), before); got != tt.want {
			t.Errorf("%s\nleaves %q, want %q", tt.code, got, tt.want)
		}
	}
}
