package magic

import (
	"strings"
)

// Argument is what the arguments of a magic are made of, for completion.
type Argument int

// What arguments can be.
const (
	None Argument = iota
	Statement
	Path
	Variable // of the environment
	Engine
	Errors
	Module
	Magic
	Test // flags of go test, and names of tests
	Query
	Session
)

// Spec is what is known of a magic.
type Spec struct {
	Name        string
	Line, Whole bool // can be written with one sign, with two
	Go          bool // takes Go: a line magic whose argument is a Statement that, a cell magic the rest of the cell
	Argument    Argument
	Usage       string // "%time STATEMENT"; two of them are parted by a line break
	Brief       string // one line
	Doc         string // what more there is to know
}

// All are the magics, in the order of their names.
func All() []Spec {
	return []Spec{
		{
			Name: "bench", Line: true, Whole: true, Go: true, Argument: Test, Usage: "%bench [-bench REGEXP] [-benchtime 1s|100x] [-benchmem] [-count N]\n%%bench [FLAGS]", Brief: "run benchmarks, as go test does",
			Doc: "It runs func BenchmarkX(b *testing.B) as %test runs tests. With -run it runs tests, too.",
		},
		{
			Name: "cd", Line: true, Argument: Path, Usage: "%cd DIR", Brief: "change the working directory",
			Doc: "Without a directory it goes to your home, as with ~; - is the previous directory.",
		},
		{
			Name: "engine", Line: true, Argument: Engine, Usage: "%engine\n%engine native|interp|auto", Brief: "show or choose what runs cells",
			Doc: "native compiles cells, interp interprets them, auto decides by the cell. The choice holds from the next line on.",
		},
		{
			Name: "env", Line: true, Argument: Variable, Usage: "%env\n%env NAME\n%env NAME=value", Brief: "list, show or set environment variables",
			Doc: "In the list, values of names with KEY, TOKEN, SECRET or PASSW in them are hidden.",
		},
		{
			Name: "errors", Line: true, Argument: Errors, Usage: "%errors\n%errors fail|show|off", Brief: "show or choose what happens to errors that a cell leaves behind",
			Doc: "fail, the default, fails a cell whose last value is an error; with show the error is shown, and the cell is ok. With both, a note\ntells of an error variable that a cell sets and does not look at; with off there are no notes. The choice holds for all cells from now on.\nmust(f()) and check(err) fail the cell in any case.",
		},
		{
			Name: "get", Line: true, Argument: Module, Usage: "%get [-replace] MODULE[@VERSION]\n%get ./DIR", Brief: "make a module's packages ready for import",
			Doc: "Without a version it takes the one that the session or the engine has, otherwise the one used last time, otherwise the latest; @latest asks for that one. If the engine holds another version of a package, -replace starts another engine, without the variables.",
		},
		{Name: "help", Line: true, Argument: Magic, Usage: "%help [MAGIC]", Brief: "explain the magics, or one of them"},
		{
			Name: "interp", Whole: true, Go: true, Usage: "%%interp", Brief: "interpret this cell",
			Doc: "It is %engine interp for one cell.",
		},
		{Name: "lsmagic", Line: true, Usage: "%lsmagic", Brief: "list the magics"},
		{
			Name: "native", Whole: true, Go: true, Usage: "%%native", Brief: "compile this cell",
			Doc: "It is %engine native for one cell.",
		},
		{Name: "pwd", Line: true, Usage: "%pwd", Brief: "print the working directory"},
		{
			Name: "reset", Line: true, Usage: "%reset [-f]", Brief: "forget all names that cells have declared or imported",
			Doc: "It does not ask. What runs in the background goes on.",
		},
		{
			Name: "sql", Whole: true, Argument: Session, Usage: "%%sql [-o NAME] [SESSION]", Brief: "run the rest of the cell as SQL, and show the rows",
			Doc: "SESSION is a variable with a session of Spark (cancha/spark); it may be left out where there is only one. With -o the result, which is a\n" +
				"frame, is a variable for the cells below.",
		},
		{
			Name: "streams", Line: true, Argument: Query, Usage: "%streams\n%streams stop|drain NAME|ID|all", Brief: "list the queries that run, or end some of them",
			Doc: "stop ends a query in order: it reads no more and gives out what is left. drain lets it read first what there is. Of queries that have ended\nthe newest few are listed.",
		},
		{
			Name: "test", Line: true, Whole: true, Go: true, Argument: Test, Usage: "%test [-v] [-run REGEXP] [-count N]\n%%test [FLAGS]", Brief: "run tests, as go test does",
			Doc: "It runs func TestX(t *testing.T), the seeds of func FuzzX(f *testing.F), and func ExampleX() with an // Output: comment: those of its cell or, if that\n" +
				"declares none, of all cells. With -run, -bench or -list it looks in all cells. %%test runs its cell first, and so does %test on a cell's first line. A failed\n" +
				"test fails the cell; one that panics does not end the others. Further flags: -skip -short -failfast -list -shuffle -parallel -bench -benchtime -benchmem.\n" +
				"Cells have to be compiled.",
		},
		{
			Name: "time", Line: true, Whole: true, Go: true, Argument: Statement, Usage: "%time STATEMENT\n%%time", Brief: "run a statement, or the cell, and tell how long it took",
			Doc: "Wall time, processor time and allocations are those of the whole process, so background work counts. Compiling is not measured.",
		},
		{
			Name: "timeit", Line: true, Whole: true, Go: true, Argument: Statement, Usage: "%timeit [-n LOOPS] [-r RUNS] STATEMENT\n%%timeit [-n LOOPS] [-r RUNS]", Brief: "time a statement, or the cell, by running it often",
			Doc: "Without -n it chooses enough loops for a run to last at least a fifth of a second; without -r there are 7 runs. What the statement declares is gone after each loop, and the\ncompiler may leave out work whose result is not used.",
		},
		{Name: "who", Line: true, Usage: "%who", Brief: "list the names that cells have declared"},
		{Name: "whos", Line: true, Usage: "%whos", Brief: "list the names that cells have declared, with type, value and cell"},
		{
			Name: "writefile", Whole: true, Argument: Path, Usage: "%%writefile [-a] PATH", Brief: "write the rest of the cell to a file",
			Doc: "With -a it is added to the end of the file.",
		},
	}
}

// Statement tells whether the magic, written with one sign, takes a statement.
func (s Spec) Statement() bool { return s.Line && s.Go && s.Argument == Statement }

// Lookup finds a magic by its name without signs.
func Lookup(name string) (Spec, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Spec{}, false
}

// Forms are the ways to write a magic's name: %time and %%time.
func (s Spec) Forms() []string {
	var forms []string
	if s.Line {
		forms = append(forms, "%"+s.Name)
	}
	if s.Whole {
		forms = append(forms, "%%"+s.Name)
	}
	return forms
}

// Text explains the magic: usage, then what it does.
func (s Spec) Text() string {
	text := s.Usage + "\n\n" + strings.ToUpper(s.Brief[:1]) + s.Brief[1:] + "."
	if s.Doc != "" {
		text += "\n" + s.Doc
	}
	return text
}

// Near returns the magics, with their signs, whose names resemble an unknown one: one name begins with the other, or at most two typing
// errors lie between them.
func Near(unknown string) []string {
	unknown = strings.ToLower(unknown)
	var near []string
	for _, s := range All() {
		begins := unknown != "" && (strings.HasPrefix(s.Name, unknown) || len(s.Name) > 2 && strings.HasPrefix(unknown, s.Name))
		if begins || distance(unknown, s.Name) <= min(2, len(unknown)-1) {
			near = append(near, s.Forms()[0])
		}
	}
	return near
}

// distance counts the letters to be put in, left out, or taken for others (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
