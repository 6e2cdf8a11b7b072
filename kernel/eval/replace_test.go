package eval

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/symbols"
	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// conflicting are modules that no engine has, nor can have without another one.
type conflicting struct {
	built     int
	meanwhile func()   // runs while an engine is built
	added     []string // example.com/fine…, which have no conflict
	cache     string
	tells     bool // how far it is
}

func (m *conflicting) Add(_ context.Context, r ModuleRequest, say func(string)) (Added, error) {
	if m.tells {
		say("finding " + r.Path)
	}
	if strings.HasPrefix(r.Path, "example.com/fine") || strings.HasPrefix(r.Path, "cancha/") {
		m.added = append(m.added, r.Path)
		return Added{Tools: native.Toolchain{Cache: m.cache}}, nil
	}
	return Added{}, &Conflict{Reason: "m needs dep v2", Module: r.Path, Build: func(context.Context, func(string)) (string, error) {
		m.built++
		if m.meanwhile != nil {
			m.meanwhile()
		}
		return "/workspace", nil
	}}
}

// newConflicting returns a program that would compile, and interprets what it is given.
func newConflicting(t *testing.T) (*Program, *conflicting) {
	t.Helper()
	var packages []Package
	for _, p := range symbols.Packages() {
		packages = append(packages, Package{Path: p.Path, Name: p.Name, Standard: p.Standard})
	}
	modules := &conflicting{cache: t.TempDir()}
	outlet := cellio.NewOutlet(func(cellio.Frame) error { return nil })
	cellio.Attach(outlet)
	t.Cleanup(func() { cellio.Attach(nil) })
	p, err := New(Config{Modules: modules, Symbols: symbols.Table(), Packages: packages, Export: symbols.Export, Outlet: outlet})
	if err != nil {
		t.Fatal(err)
	}
	p.native.Engine = native.New(native.Toolchain{}, p.machine)
	p.native.share(modules.cache) // as an engine has its own from the start
	t.Cleanup(p.native.close)
	p.mode.set(engineInterp)
	return p, modules
}

// TestConflictInASession: an engine is replaced unasked where the session has nothing to lose, and else only for who asks.
func TestConflictInASession(t *testing.T) {
	const wanted = "import \"example.com/m\"\nm.F()"
	for _, c := range []struct {
		name   string
		before []string
		code   string
		want   string // in the error; "" is the other engine
	}{
		{"a new session", nil, wanted, ""},
		{"imports and output", []string{"import str \"strings\"\nfmt.Println(str.ToUpper(\"a\"))", "%cd /", "1 + 1"}, wanted, ""},
		{"a variable", []string{"x := 1", "y, z := 2, 3"}, wanted, "m needs dep v2; an engine with it would start without what cells have declared (x, y, z): \"%get -replace example.com/m\" asks for that"},
		{"many variables", []string{"var a, b, c, d, e, f, g, h, i, j, k, l, m1, n int"}, wanted, "k, l, 2 more)"},
		{"forgotten ones", []string{"x := 1", "%reset"}, wanted, ""},
		{"a goroutine", []string{"go func() { for os.Getenv(\"CARRIED_GO_ON\") != \"\" { time.Sleep(time.Millisecond) } }()"}, wanted, "without the goroutines of cells ("},
		{"a setting of a library", []string{"import \"log\"\nlog.SetFlags(log.LstdFlags)"}, wanted, "without what log.SetFlags in cell 1 may have left"},
		{"a variable of a library", []string{"import \"net/http\"\nhttp.DefaultClient.Timeout = 0"}, wanted, "without what http.DefaultClient in cell 1 may have left"},
		{"a setting, timed", []string{"import \"log\"\n%time log.SetFlags(log.LstdFlags)"}, wanted, "without what log.SetFlags in cell 1 may have left"},
		{"a setting, in a loop", []string{"import \"log\"\n%timeit -n 1 -r 1 log.SetFlags(log.LstdFlags)"}, wanted, "without what log.SetFlags in cell 1 may have left"},
		{"a setting, beside a magic", []string{"import \"log\"\n%pwd\nlog.SetFlags(log.LstdFlags)"}, wanted, "without what log.SetFlags in cell 1 may have left"},
		{"a setting by a forgotten function", []string{"import \"log\"\nfunc set() { log.SetFlags(log.LstdFlags) }\nset()", "%reset"}, wanted, "without what log.SetFlags in cell 1 may have left"},
		{"a timer", []string{"time.AfterFunc(time.Hour, func() {})"}, wanted, "without what time.AfterFunc in cell 1 may have left"},
		{"by a magic", nil, "%get example.com/m@v1.0.0", ""},
		{"by a magic, with a variable", []string{"x := 1"}, "%get example.com/m@v1.0.0", "(x): \"%get -replace example.com/m@v1.0.0\""},
		{"who asks", []string{"x := 1"}, "%get -replace example.com/m@v1.0.0", ""},
		{"behind what has run", nil, "fmt.Println(1)\n%get example.com/m", "in a cell of its own"},
		{"behind a folder", nil, "%cd ..\n%get example.com/m", "in a cell of its own"},
		{"behind what is carried over", nil, "%env CARRIED_GO_ON=yes\n%pwd\n%errors show\n%get example.com/m", ""},
		{"behind a command", nil, "!true\n%get example.com/m", "in a cell of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wd, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chdir(wd) })
			t.Setenv("CARRIED_GO_ON", "yes")
			others := cellGoroutines(0)
			t.Cleanup(func() {
				os.Unsetenv("CARRIED_GO_ON")
				for cellGoroutines(0) > others { // polls: goroutines of cells tell nobody of their end
					time.Sleep(time.Millisecond)
				}
			})
			p, modules := newConflicting(t)
			for i, code := range c.before {
				if r := p.Run(cell.Request{Cell: int64(i + 1), Count: i + 1, Code: code}); r.Err != nil {
					t.Fatalf("%s: %v", code, r.Err)
				}
			}
			n := len(c.before) + 1
			r := p.Run(cell.Request{Cell: int64(n), Count: n, Code: c.code})
			switch {
			case c.want == "" && (r.Replacement == nil || r.Replacement.Workspace != "/workspace"):
				t.Errorf("got %+v, %v, want another engine", r.Replacement, r.Err)
			case c.want != "" && (r.Replacement != nil || modules.built != 0):
				t.Error("the engine is replaced")
			case c.want != "" && (r.Err == nil || !strings.Contains(r.Err.Value, c.want)):
				t.Errorf("got %v, want in it %q", r.Err, c.want)
			}
		})
	}
}

// TestCarried: what a session keeps comes from the engine before to the one after.
func TestCarried(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chdir(wd) })
	t.Setenv("CARRIED_GONE", "1") // restores what the cells do to it
	t.Setenv("CARRIED_NEW", "")
	os.Unsetenv("CARRIED_NEW")
	old, _ := newConflicting(t)
	for i, code := range []string{"import str \"strings\"\nimport _ \"embed\"", "import \"math/rand\"", "import \"math/rand/v2\"", "import \"math/rand\"", "%errors show", "%cd /", "%env CARRIED_NEW=a b", "os.Unsetenv(\"CARRIED_GONE\")", "%get example.com/fine@v1.0.0", "%get example.com/fine@v1.1.0"} {
		if r := old.Run(cell.Request{Cell: int64(i + 1), Count: i + 1, Code: code}); r.Err != nil {
			t.Fatalf("%s: %v", code, r.Err)
		}
	}
	r := old.Run(cell.Request{Cell: 11, Count: 11, Code: "%get example.com/m"})
	if r.Replacement == nil {
		t.Fatalf("got %v", r.Err)
	}
	c := r.Replacement.Carried
	if want := []string{"example.com/fine@v1.1.0", "example.com/m"}; !slices.Equal(c.Gets, want) {
		t.Errorf("got %v, want %v: what has been asked for last comes last", c.Gets, want)
	}
	c.Gets = c.Gets[:1] // this engine has a conflict about the other, too
	if want := []string{`str "strings"`, `_ "embed"`, `"math/rand/v2"`, `"math/rand"`}; !slices.Equal(c.Imports, want) || c.Dir != "/" || c.Mode != engineInterp || c.Errors != errorsShow ||
		!slices.Contains(c.Set, "CARRIED_NEW=a b") || !slices.Contains(c.Unset, "CARRIED_GONE") {
		t.Errorf("got %+v", c)
	}
	_ = os.Chdir(wd) // the new engine begins as the old one did
	os.Unsetenv("CARRIED_NEW")
	t.Setenv("CARRIED_GONE", "1")
	next, modules := newConflicting(t)
	check := `if d, _ := os.Getwd(); d != "/" || os.Getenv("CARRIED_NEW") != "a b" || os.Getenv("CARRIED_GONE") != "" || str.ToUpper("a") != "A" || rand.Intn(1) != 0 { panic(d) }
	io.EOF`
	if r := next.Run(cell.Request{Cell: 11, Count: 11, Code: check, Carried: &c}); r.Err != nil {
		t.Error(r.Err)
	}
	if want := []string{"example.com/fine@v1.1.0"}; !slices.Equal(modules.added, want) {
		t.Errorf("modules: got %v, want %v", modules.added, want)
	}
}

// TestBlankImport: a package that is imported only to be initialized is loaded with the cell, which is compiled for that where the engine
// has not linked the package.
func TestBlankImport(t *testing.T) {
	p, _ := newConflicting(t)
	c, err := p.scope.Check("cell 1", "import _ \"embed\"\nimport _ \"embed\"")
	if err != nil {
		t.Fatal(err)
	}
	if p.wantsCompiler(c) {
		t.Error("compiled for a package of the engine")
	}
	p.session.add([]Package{{Path: "embed"}})
	if !p.wantsCompiler(c) {
		t.Error("not compiled for a package that was added")
	}
	source, err := p.native.Write(c, 1, p.lowerer.Place)
	if err != nil || !strings.Contains(source.Text, "import _ \"embed\"\n") {
		t.Errorf("got %v, %v, want the import in it", source, err)
	}
}

// TestRoomsOnImport: a room of the library that no engine is made of is added as a module is, and where that cannot be, the import says why.
func TestRoomsOnImport(t *testing.T) {
	p, modules := newConflicting(t)
	p.onImport = []string{"cancha/heavy"}
	cell := &task{ctx: t.Context()}
	if err := p.getImports(cell, "import (\n\t\"cancha/heavy\"\n\t\"cancha/unknown\"\n\t\"fmt\"\n)"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"cancha/heavy"}; !slices.Equal(modules.added, want) {
		t.Errorf("added %q, want %q", modules.added, want)
	}
	p.modules, p.native.reason = nil, "there is no C compiler"
	err := p.getImports(cell, "import \"cancha/heavy\"")
	if err == nil || !strings.Contains(err.Error(), "cancha/heavy is compiled when a cell imports it") || !strings.Contains(err.Error(), "there is no C compiler") {
		t.Errorf("got %v", err)
	}
}

func TestAddedLine(t *testing.T) {
	for _, c := range []struct {
		name   string
		r      ModuleRequest
		module native.Module
		want   string
	}{
		{"the module's root", ModuleRequest{Path: "a.org/m"}, native.Module{Path: "a.org/m", Version: "v1.0.0"}, "added a.org/m@v1.0.0\n"},
		{"a package below", ModuleRequest{Path: "a.org/m/p"}, native.Module{Path: "a.org/m", Version: "v1.0.0"}, "added a.org/m/p of a.org/m@v1.0.0\n"},
		{"by %get", ModuleRequest{Path: "a.org/m/p", Get: true}, native.Module{Path: "a.org/m", Version: "v1.0.0"}, "added a.org/m@v1.0.0\n"},
		{"the program's own", ModuleRequest{Path: "cancha/heavy"}, native.Module{}, "added cancha/heavy\n"},
		{"of a folder", ModuleRequest{Path: "a.org/m/p"}, native.Module{Path: "a.org/m"}, "added a.org/m/p of a.org/m\n"},
	} {
		if got := addedLine(c.r, c.module); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOwnRoomsLeaveNoBlankLine: what was told of the way is followed by a line that stays; where nothing was told, nothing is left.
func TestOwnRoomsLeaveNoBlankLine(t *testing.T) {
	p, modules := newConflicting(t)
	for tells, want := range map[bool]string{false: "", true: "added cancha/heavy\n"} {
		modules.tells = tells
		last := ""
		if err := p.get(t.Context(), &task{ctx: t.Context()}, ModuleRequest{Path: "cancha/heavy"}, false, func(line string) { last = line }); err != nil || last != want {
			t.Errorf("tells %v: got %q, %v, want %q", tells, last, err, want)
		}
	}
}

// TestDeclaredWhileAnEngineIsBuilt: what a subshell's cell declares while another engine is built is not lost unasked.
func TestDeclaredWhileAnEngineIsBuilt(t *testing.T) {
	p, modules := newConflicting(t)
	modules.meanwhile = func() {
		if r := p.Run(cell.Request{Cell: 2, Count: 2, Subshell: true, Code: "x := 1"}); r.Err != nil {
			t.Error(r.Err)
		}
	}
	r := p.Run(cell.Request{Cell: 1, Count: 1, Code: "import \"example.com/m\"\nm.F()"})
	if r.Replacement != nil || r.Err == nil || !strings.Contains(r.Err.Value, "would start without what cells have declared (x)") {
		t.Errorf("got %+v and %+v", r.Replacement, r.Err)
	}
}
