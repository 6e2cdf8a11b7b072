package check

import (
	"go/types"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cancha/kernel/cell"
	"cancha/runtime/table"
)

// around gives a scope variables with values, and two files.
func around(t *testing.T, s *Scope, busy bool) {
	t.Helper()
	shots, err := table.Of([]struct {
		Player string
		Minute int
		XG     float64
	}{{"Ana", 3, 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	var none *table.Table
	type held struct{ Shots *table.Table }
	values := map[string]any{
		"shots": &shots, "none": &none, "box": &held{shots},
		"teams": &map[string]int{"Boca": 1, "River": 2, "say \"hi\"": 3},
		"deep":  &map[string]map[string]bool{"Boca": {"home": true}},
	}
	s.Outside = Outside{
		Value: func(v *types.Var) reflect.Value {
			if at, ok := values[v.Name()]; ok {
				return reflect.ValueOf(at).Elem()
			}
			return reflect.Value{}
		},
		Exclude: func() (func(), bool) { return func() {}, !busy },
		Files: func(path string) (matches []cell.Match) {
			for _, name := range []string{"data/", "da\"y.csv", "Player.csv"} {
				if strings.HasPrefix(name, path) {
					matches = append(matches, cell.Match{Text: name, Type: "file"})
				}
			}
			return matches
		},
	}
}

const stringSession = `import "cancha/runtime/table"
var shots, none *table.Table
var box struct{ Shots *table.Table }
teams, deep := map[string]int{}, map[string]map[string]bool{}`

func TestCompleteInStrings(t *testing.T) {
	columns := []string{"Player", "Minute", "XG"}
	tests := []struct {
		name, code string
		want       []string
		replaced   string
	}{
		{"file", `os.Open("da‸")`, []string{`data/`, `da\"y.csv`}, "da"},
		{"file, open", `os.Open("da‸`, []string{`data/`, `da\"y.csv`}, "da"},
		{"file, open in front of code", `f(os.Open("dat‸), 1)`, []string{`data/`}, "dat"},
		{"file, in the middle", `os.Open("da‸ta")`, []string{`data/`, `da\"y.csv`}, "data"},
		{"folder with its separator", `os.Open("dat‸/x.csv")`, []string{`data`}, "dat"},
		{"the quote is that of another string", `f("dat‸) + g("x")`, []string{`data/`}, "dat"},
		{"file, raw", "os.Open(`da‸`)", []string{`data/`, `da"y.csv`}, "da"},
		{"file, a variable's value", "path := \"dat‸\"", []string{"data/"}, "dat"},
		{"file in a function", "func load() {\n\tos.Open(\"dat‸\")\n}", []string{"data/"}, "dat"},
		{"rune", `x := 'd‸'`, nil, ""},
		{"comment", `// os.Open("da‸")`, nil, ""},
		{"half an escape", `os.Open("da\‸")`, nil, ""},
		{"columns", `shots.Sort("‸", true)`, columns, ""},
		{"column", `shots.Sort("X‸", true)`, []string{"XG"}, "X"},
		{"column, open", `top, err := shots.Sort("X‸, true)`, []string{"XG"}, "X"},
		{"column in any case", `shots.Column("min‸")`, []string{"Minute"}, "min"},
		{"one of many columns", `shots.Select("XG", "Pl‸")`, []string{"Player"}, "Pl"},
		{"raw column", "shots.Select(`Pl‸`)", []string{"Player"}, "Pl"},
		{"column of what a method returns", `shots.Head(3).Sort("‸", true)`, columns, ""},
		{"column of a field", `box.Shots.Sort("M‸", true)`, []string{"Minute"}, "M"},
		{"column in a function", `shots.Filter(func(row int) bool { return shots.Value(row, "M‸") == 3 })`, []string{"Minute"}, "M"},
		{"column of a row", `shots.Row(0)["M‸"]`, []string{"Minute"}, "M"},
		{"column for a function", `draw(shots, "M‸")`, []string{"Minute"}, "M"},
		{"column of the variable of an earlier run", "shots, err := table.ReadCSV(\"x.csv\")\nshots.Sort(\"M‸\", true)", []string{"Minute"}, "M"},
		{"a table's path", `shots.WriteCSV("Pl‸")`, []string{"Player.csv"}, "Pl"},
		{"no column, a file", `shots.Sort("dat‸", true)`, []string{"data/"}, "dat"},
		{"no table", `none.Sort("M‸", true)`, nil, ""},
		{"keys", `teams["‸"]`, []string{"Boca", "River", `say \"hi\"`}, ""},
		{"key", `x := teams["B‸"] + 1`, []string{"Boca"}, "B"},
		{"key, open", `fmt.Println(teams["B‸`, []string{"Boca"}, "B"},
		{"key, open in front of code", `fmt.Println(teams["B‸], 1)`, []string{"Boca"}, "B"},
		{"key of a map in a map", `deep["Boca"]["‸"]`, []string{"home"}, ""},
		{"key to delete", `delete(teams, "R‸")`, []string{"River"}, "R"},
		{"no key", `teams["dat‸"]`, nil, ""},
		{"import", `import "gonum.org/v1/gonum/sta‸"`, []string{"gonum.org/v1/gonum/stat", "gonum.org/v1/gonum/stat/distuv"}, ""},
		{"import by its last element", `import "distu‸"`, []string{"gonum.org/v1/gonum/stat/distuv"}, "distu"},
	}
	s := session(t, stringSession)
	around(t, s, false)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, cursor := ask(t, tt.code)
			c := s.Complete(code, cursor)
			if got := texts(c); !slices.Equal(got, tt.want) {
				t.Errorf("offered %q, want %q", got, tt.want)
			}
			if replaced := string([]rune(code)[c.Start:c.End]); tt.replaced != "" && replaced != tt.replaced {
				t.Errorf("replaces %q, want %q", replaced, tt.replaced)
			}
		})
	}
}

// TestCompleteBesideACell: while code of cells may write to them, maps are not read, and pointers are.
func TestCompleteBesideACell(t *testing.T) {
	s := session(t, stringSession)
	around(t, s, true)
	for code, want := range map[string][]string{
		`shots.Sort("X‸", true)`:     {"XG"},
		`teams["B‸"]`:                nil,
		`box.Shots.Sort("X‸", true)`: nil,
	} {
		code, cursor := ask(t, code)
		if got := texts(s.Complete(code, cursor)); !slices.Equal(got, want) {
			t.Errorf("%s: offered %q, want %q", code, got, want)
		}
	}
}
