package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edits is a session that has loaded a local module, which is then edited.
type edits struct {
	t   *testing.T
	s   *Store
	dir string
	now *Extension
}

func (e *edits) write(name, text string) {
	e.t.Helper()
	if err := put(filepath.Join(e.dir, name), text); err != nil {
		e.t.Fatal(err)
	}
}

func (e *edits) get(name string, beside bool, used ...string) error {
	dir := filepath.Join(e.dir, name)
	path, err := ModulePath(dir)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.extend(Want{Path: path, Dir: dir, Module: true, Beside: beside, Used: used})
}

func (e *edits) extend(want Want) error {
	x, err := e.s.Extend(e.t.Context(), e.now, want, func(string) {})
	if err == nil {
		e.t.Cleanup(x.Close)
		e.now = x
	}
	return err
}

// must is for what has to work.
func (e *edits) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// has tells whether the archive of a package, as cells write its path, has a text in it.
func (e *edits) has(path, text string) bool {
	e.t.Helper()
	all, err := Packages(e.now.Manifest.Importcfg)
	if err != nil {
		e.t.Fatal(err)
	}
	archive, err := os.ReadFile(all[path])
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.Contains(string(archive), text)
}

func newEdits(t *testing.T, files map[string]string) *edits {
	y := useYard(t)
	s, start := y.open(t)
	return &edits{t, s, tree(t, files), start}
}

func twoModules() map[string]string {
	return map[string]string{
		"a/go.mod":     "module example.com/a\n\ngo 1.20\n\nrequire example.com/c v0.0.0\n\nreplace example.com/c => ../c\n",
		"a/a.go":       "package a\n\nimport (\n\t\"example.com/a/sub\"\n\t\"example.com/c\"\n)\n\nfunc F() string { return \"a1\" + sub.F() + c.F() }\n",
		"a/sub/s.go":   "package sub\n\nfunc F() string { return \"sub1\" }\n",
		"a/other/o.go": "package other\n\nfunc F() string { return \"other1\" }\n",
		"a/a_test.go":  "package a\n",
		"c/go.mod":     "module example.com/c\n\ngo 1.20\n",
		"c/c.go":       "package c\n\nfunc F() string { return \"c1\" }\n",
	}
}

// TestEdited: an edit is seen without compiling; what is not compiled may change.
func TestEdited(t *testing.T) {
	e := newEdits(t, twoModules())
	e.must(e.get("a", false))
	a := []string{"example.com/a"}
	check := func(what string, want ...string) {
		t.Helper()
		if got := paths(e.now.Edited(a)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("as it was")
	e.write("a/a_test.go", "package a // edited\n")
	e.write("a/README", "edited\n")
	e.write("a/other/o.go", "package other\n")
	e.write("a/a.go", twoModules()["a/a.go"])
	check("what is not compiled into it, and a file written again")
	e.write("c/c.go", "package c\n\nfunc F() string { return \"c2\" }\n")
	check("of another module", "example.com/c")
	e.write("a/sub/more.go", "package sub\n")
	check("a file more", "example.com/a/sub", "example.com/c")
	e.must(os.Remove(filepath.Join(e.dir, "c/c.go")))
	check("a file less", "example.com/a/sub", "example.com/c")
}

// TestEditedIsInNobodysWay: while a module is edited, half of it written, the session goes on with what it has loaded and adds others.
func TestEditedIsInNobodysWay(t *testing.T) {
	e := newEdits(t, twoModules())
	e.must(e.get("a", false))
	e.write("a/a.go", "package a\n\nfunc F() string {")
	used := []string{"example.com/a"}
	e.must(e.extend(Want{Path: "example.com/low", Version: "v1.1.0", Used: used}))
	if !e.has("example.com/a", "a1") || !e.has("example.com/c", "c1") || !e.has("example.com/low", "low") {
		t.Error("what was loaded has gone")
	}
	e.must(e.extend(Want{Path: "example.com/many/one", Version: "v1.0.0", Used: append(used, "example.com/low")}))
	if err := e.extend(Want{Path: "example.com/a/other", Used: used}); err != nil {
		t.Error("a package of it that needs nothing of what is edited: ", err)
	}
	if err := e.get("a", false, used...); err == nil || !strings.Contains(err.Error(), "a.go:3:18: syntax error") {
		t.Errorf("asked for: got %v, want what is wrong with it", err)
	}
}

// TestBeside: what a module is now can be had beside what the session has loaded of it, time and again.
func TestBeside(t *testing.T) {
	e := newEdits(t, twoModules())
	e.must(e.get("a", false))
	used := []string{"example.com/a"}
	e.write("a/sub/s.go", "package sub\n\nfunc F() string { return \"sub2\" }\n")
	var conflict *Conflict
	if err := e.get("a", false, used...); !errors.As(err, &conflict) || !conflict.Session {
		t.Fatalf("got %v, want a conflict", err)
	}
	e.must(e.get("a", true, used...))
	second := e.now.Actual("example.com/a")
	if second == "example.com/a" || !e.has(second+"/sub", "sub2") || !e.has("example.com/a/sub", "sub1") || e.has("example.com/a/sub", "sub2") {
		t.Errorf("now %s of %v", second, paths(e.now.Packages))
	}
	if e.now.Actual("example.com/c") != "example.com/c" {
		t.Error("what was not edited has one path")
	}
	if got := e.now.Edited([]string{second}); len(got) > 0 {
		t.Errorf("edited: got %v", paths(got))
	}
	used = append(used, second)

	e.write("c/c.go", "package c\n\nfunc F() string { return \"c2\" }\n") // what it needs
	if got := paths(e.now.Edited([]string{second})); !slices.Equal(got, []string{"example.com/c"}) {
		t.Errorf("edited: got %v", got)
	}
	e.must(e.get("a", true, used...))
	third := e.now.Actual("example.com/a")
	if c := e.now.Actual("example.com/c"); third == second || c == "example.com/c" || !e.has(c, "c2") || !e.has(third+"/sub", "sub2") || !e.has("example.com/c", "c1") || !e.has(second+"/sub", "sub2") {
		t.Errorf("now %s and %s of %v", third, c, paths(e.now.Packages))
	}
	used = append(used, third)

	e.must(e.extend(Want{Path: e.now.Actual("example.com/a/other"), Used: used})) // one more package of it
	if !e.has(third+"/other", "other1") {
		t.Error("a package that had not been imported")
	}
	for path, want := range map[string]string{third + "/sub": "example.com/a/sub", "example.com/c": "example.com/c", "errors": "errors"} {
		if got, _ := e.now.Written(path); got != want {
			t.Errorf("written: got %s for %s, want %s", got, path, want)
		}
	}
	if got := e.now.Plain("in " + third + "/sub: nil"); got != "in example.com/a/sub: nil" {
		t.Errorf("got %q", got)
	}

	e.write("a/sub/s.go", twoModules()["a/sub/s.go"]) // back to what it was
	e.write("c/c.go", twoModules()["c/c.go"])
	e.must(e.get("a", false, used...))
	if got := e.now.Actual("example.com/a"); got != "example.com/a" {
		t.Errorf("got %s for what was loaded first", got)
	}
}

// TestAside: another path is one that Go takes for a module of the same major version.
func TestAside(t *testing.T) {
	for path, want := range map[string]string{
		"example.com/a": "example.com/a~e00", "example.com/a/v2": "example.com/a~e00/v2", "gopkg.in/a.v3": "gopkg.in/a~e00.v3", "mine": "mine~e00",
	} {
		if got := aside(path, "00"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestBesideOfMany: modules with a major version in their paths, without a host.
func TestBesideOfMany(t *testing.T) {
	for _, name := range []string{"example.com/a/v2", "mine"} {
		e := newEdits(t, map[string]string{
			"a/go.mod":   "module " + name + "\n\ngo 1.20\n",
			"a/a.go":     "package a\n\nimport \"" + name + "/sub\"\n\nvar F = sub.F\n",
			"a/sub/s.go": "package sub\n\nfunc F() string { return \"sub1\" }\n",
		})
		e.must(e.get("a", false))
		e.write("a/sub/s.go", "package sub\n\nfunc F() string { return \"sub2\" }\n")
		e.must(e.get("a", true, name))
		if to := e.now.Actual(name); !e.has(to+"/sub", "sub2") || !e.has(name+"/sub", "sub1") {
			t.Errorf("%s: now %s", name, to)
		}
	}
}

// TestBesideKeeps: a package that an edit does not reach stays the one that the session has, and cells import that; what is internal, or has
// not been loaded, comes from the copy.
func TestBesideKeeps(t *testing.T) {
	e := newEdits(t, map[string]string{
		"m/go.mod":                "module example.com/m\n\ngo 1.20\n\nrequire example.com/m/inner v0.0.0\n\nreplace example.com/m/inner => ./inner\n",
		"m/m.go":                  "package m\n\nimport (\n\t\"example.com/m/inner\"\n\t\"example.com/m/logic\"\n)\n\nvar F, G = logic.F, inner.F\n",
		"m/logic/l.go":            "package logic\n\nimport (\n\t\"example.com/m/internal/in\"\n\t\"example.com/m/types\"\n)\n\nfunc F() types.T { return in.F(1) }\n",
		"m/types/t.go":            "package types\n\ntype T struct{ N int }\n",
		"m/internal/in/in.go":     "package in\n\nimport \"example.com/m/types\"\n\nfunc F(n int) types.T { return types.T{n} }\n",
		"m/late/late.go":          "package late\n\nimport \"example.com/m/logic\"\n\nvar F = logic.F\n",
		"m/types/more/more.go":    "package more\n\nconst N = 1\n",
		"m/inner/go.mod":          "module example.com/m/inner\n",
		"m/inner/inner.go":        "package inner\n\nfunc F() {}\n",
		"m/half/half.go":          "package half\n\n// int half(int n) { return n / 2; }\nimport \"C\"\n\nfunc Of(n int) int { return int(C.half(C.int(n))) }\n",
		"m/half/user/user.go":     "package user\n\nimport \"example.com/m/half\"\n\nvar F = half.Of\n",
		"m/vendor/not/modules.go": "package not\n",
	})
	e.must(e.get("m", false))
	used := []string{"example.com/m", "example.com/m/types", "example.com/m/logic", "example.com/m/half/user"}
	e.must(e.extend(Want{Path: "example.com/m/half/user", Used: used}))
	e.write("m/logic/l.go", "package logic\n\nimport (\n\t\"example.com/m/internal/in\"\n\t\"example.com/m/types\"\n)\n\nfunc F() types.T { return in.F(2) }\n")
	e.must(e.get("m", true, used...))
	for path, stays := range map[string]bool{"": false, "/types": true, "/logic": false, "/half": true, "/half/user": true, "/internal/in": false, "/late": false, "/types/more": false, "/inner": true} {
		if got := e.now.Actual("example.com/m"+path) == "example.com/m"+path; got != stays {
			t.Errorf("%s: stays is %v, want %v", path, got, stays)
		}
	}
	used = append(used, e.now.Actual("example.com/m"))
	e.must(e.extend(Want{Path: e.now.Actual("example.com/m/late"), Used: used}))
	all := byPath(e.now.Packages)
	if late := all[e.now.Actual("example.com/m/late")]; !slices.Contains(late.Imports, e.now.Actual("example.com/m/logic")) {
		t.Errorf("what was not loaded before imports %v", late.Imports)
	}
	if logic := all[e.now.Actual("example.com/m/logic")]; !slices.Contains(logic.Imports, "example.com/m/types") {
		t.Errorf("what was edited imports %v", logic.Imports)
	}
	e.write("m/half/half.go", "package half\n\n// int half(int n) { return n / 3; }\nimport \"C\"\n\nfunc Of(n int) int { return int(C.half(C.int(n))) }\n")
	if err := e.get("m", true, used...); err == nil || !strings.Contains(err.Error(), "example.com/m/half uses cgo") {
		t.Errorf("got %v, want that it cannot be had twice", err)
	}
}
