package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "cancha"

func TestHouse(t *testing.T) {
	faults, rooms := inspect(t, os.DirFS("../.."))
	for _, f := range faults {
		t.Error(f)
	}
	if rooms < 10 {
		t.Errorf("%d packages seen: this is not the module's root", rooms)
	}
}

// source is a parsed file of a room.
type source struct {
	name   string // slash-separated, from the module's root
	file   *ast.File
	isTest bool
}

func (s source) room() string { return path.Dir(s.name) }

// own returns the rooms of this module that the file imports, as folders.
func (s source) own() []string {
	var all []string
	for _, spec := range s.file.Imports {
		room, ok := strings.CutPrefix(unquote(spec), module+"/")
		switch {
		case ok:
			all = append(all, room)
		case room == module:
			all = append(all, ".") // the root
		}
	}
	return all
}

// others returns the import paths that are not of this module.
func (s source) others() []string {
	var all []string
	for _, spec := range s.file.Imports {
		if p := unquote(spec); p != module && !strings.HasPrefix(p, module+"/") {
			all = append(all, p)
		}
	}
	return all
}

func unquote(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
	return p
}

// inspect returns everything that is wrong in a tree, and how many packages it has.
func inspect(t *testing.T, tree fs.FS) (faults []string, rooms int) {
	t.Helper()
	sources, err := parse(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		faults = append(faults, checkFloors(s)...)
		faults = append(faults, checkAustere(s)...)
		faults = append(faults, checkDoors(s)...)
		faults = append(faults, checkSuites(s)...)
		faults = append(faults, checkInit(s)...)
		faults = append(faults, checkLinkname(s)...)
	}
	packages := map[string][]source{}
	for _, s := range sources {
		packages[s.room()] = append(packages[s.room()], s)
	}
	for _, room := range slices.Sorted(maps.Keys(packages)) {
		faults = append(faults, checkName(room)...)
		faults = append(faults, checkSentence(room, packages[room])...)
	}
	return faults, len(packages)
}

// parse reads all Go files, whatever their build tags.
func parse(tree fs.FS) ([]source, error) {
	var all []source
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, source{name, f, strings.HasSuffix(name, "_test.go")})
		return nil
	})
	return all, err
}

// matches tells whether a file, folder or import path falls under one of the patterns; a file falls under its folder's.
func matches(name string, patterns []string) bool {
	for _, p := range patterns {
		if whole, ok := strings.CutSuffix(p, "/..."); ok && (name == whole || strings.HasPrefix(name, whole+"/")) {
			return true
		}
		if name == p || path.Ext(name) == ".go" && path.Dir(name) == p {
			return true
		}
	}
	return false
}

func checkFloors(s source) (faults []string) {
	for _, f := range floors() {
		if s.isTest || !matches(s.name, f.rooms) || matches(s.name, f.except) {
			continue
		}
		for _, imp := range s.own() {
			if matches(imp, f.forbid) {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", s.name, imp, f.reason))
			}
		}
	}
	return faults
}

func checkAustere(s source) (faults []string) {
	for _, d := range austere() {
		if s.isTest || !matches(s.name, d.of) {
			continue
		}
		for _, imp := range append(s.own(), slices.DeleteFunc(s.others(), standard)...) {
			if !matches(imp, d.rooms) {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", s.name, imp, d.reason))
			}
		}
	}
	return faults
}

// checkDoors refuses a foreign library outside its rooms, and one that has no door yet.
func checkDoors(s source) (faults []string) {
	for _, imp := range s.others() {
		i := slices.IndexFunc(doors(), func(d door) bool { return matches(imp, d.of) })
		switch {
		case i < 0 && !standard(imp):
			faults = append(faults, fmt.Sprintf("%s imports %s: it has no door; add one to the plan, with the reason", s.name, imp))
		case i >= 0 && !matches(s.name, doors()[i].rooms) && !(s.isTest && doors()[i].tests):
			faults = append(faults, fmt.Sprintf("%s imports %s: %s", s.name, imp, doors()[i].reason))
		}
	}
	return faults
}

// standard tells whether an import path that is not of this module is of the standard library.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// checkSuites keeps suites out of the program.
func checkSuites(s source) (faults []string) {
	if s.isTest || strings.HasSuffix(s.room(), "test") {
		return nil
	}
	for _, imp := range s.own() {
		if strings.HasSuffix(imp, "test") {
			faults = append(faults, fmt.Sprintf("%s imports the suite %s: suites are imported by tests only", s.name, imp))
		}
	}
	return faults
}

// checkInit spares what a generator writes: protobuf's own registers the messages, and has no other way.
func checkInit(s source) (faults []string) {
	if ast.IsGenerated(s.file) {
		return nil
	}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			faults = append(faults, s.name+" has an init function: what a thing needs is passed to it")
		}
	}
	return faults
}

func checkLinkname(s source) (faults []string) {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			listed := slices.ContainsFunc(linknames(), func(e exception) bool { return e.file == s.name })
			if strings.HasPrefix(c.Text, "//go:linkname ") && !listed {
				faults = append(faults, s.name+" uses go:linkname and is not listed with a reason")
			}
		}
	}
	return faults
}

func checkName(room string) (faults []string) {
	for part := range strings.SplitSeq(room, "/") {
		if slices.Contains(forbiddenNames(), part) {
			faults = append(faults, fmt.Sprintf("%s: %q says nothing of what is in the room", room, part))
		}
	}
	return faults
}

// sentence is how a package comment begins and that it is a sentence at least.
var sentence = regexp.MustCompile(`(?s)^(Package|Command) (\w+) .{20,}?\.(\s|$)`)

// checkSentence wants one package comment in a room; a room of tests alone needs none.
func checkSentence(room string, files []source) []string {
	var comments []string
	tests := true
	for _, s := range files {
		tests = tests && s.isTest
		if !s.isTest && s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != "" {
			comments = append(comments, s.file.Doc.Text())
		}
	}
	if tests {
		return nil
	}
	if len(comments) != 1 {
		return []string{fmt.Sprintf("%s: %d package comments, want one that says what the package is and where it ends", room, len(comments))}
	}
	name := files[0].file.Name.Name
	if name == "main" {
		name = path.Base(room)
	}
	m := sentence.FindStringSubmatch(comments[0])
	if m == nil || m[2] != strings.TrimSuffix(name, "_test") {
		return []string{fmt.Sprintf("%s: its comment must open with a sentence that begins \"Package %s\", a program's with \"Command %s\"", room, name, name)}
	}
	return nil
}

// The guard itself: each row breaks one rule, or just not.
func TestInspect(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		want             string // part of the one fault, "" for none
	}{
		{"kernel wing reaches the library", "kernel/x.go", `import "cancha/stream"`, "the two wings meet"},
		{"a room below it too", "kernel/eval/check/x.go", `import "cancha/runtime/table"`, "the two wings meet"},
		{"the library reaches the kernel", "stream/x.go", `import "cancha/kernel/cell"`, "runs without a kernel"},
		{"both meet in the hall", "kernel/x.go", `import "cancha/internal/cellio"`, ""},
		{"Go's own runtime is no room of ours", "kernel/x.go", `import "runtime/debug"`, ""},
		{"siblings", "kernel/engine/x.go", `import "cancha/kernel/zmq"`, "siblings meet in cmd"},
		{"siblings in a test", "kernel/engine/x_test.go", `import "cancha/kernel/zmq"`, ""},
		{"the root", "kernel/client/x.go", `import "cancha"`, "program's business"},
		{"the root in cmd", "cmd/cancha/x.go", `import "cancha"`, ""},
		{"own floor below", "kernel/eval/x.go", `import "cancha/kernel/eval/check"`, ""},
		{"learning and streams", "ml/tree/x.go", `import "cancha/stream"`, "slices and iterators"},
		{"the forest's GPU file", "ml/forest/gpu.go", `import "cancha/runtime/gpu"`, ""},
		{"another file of the forest", "ml/forest/x.go", `import "cancha/runtime/gpu"`, "reach the GPU"},
		{"display stays poor", "runtime/display/x.go", `import "cancha/runtime/table"`, "nothing but the hall"},
		{"display and the hall", "runtime/display/x.go", `import "cancha/internal/cellio"`, ""},
		{"the tables", "kernel/eval/x.go", `import "cancha/internal/symbols"`, "cmd hands them"},
		{"the tables in cmd", "cmd/cancha/x.go", `import "cancha/internal/symbols"`, ""},
		{"a library through its door", "kernel/zmq/x.go", `import "github.com/go-zeromq/zmq4"`, ""},
		{"a library elsewhere", "kernel/x.go", `import "github.com/go-zeromq/zmq4"`, "nine bytes"},
		{"a library elsewhere in a test", "kernel/x_test.go", `import "github.com/go-zeromq/zmq4"`, "nine bytes"},
		{"a handshake that knows sockets", "kernel/zmq/curve/x.go", `import "cancha/kernel/wire"`, "arithmetic"},
		{"an analysis elsewhere", "kernel/eval/check/x.go", `import "golang.org/x/tools/go/analysis"`, "one room knows what the analyses"},
		{"boxes elsewhere", "kernel/zmq/x.go", `import "golang.org/x/crypto/nacl/box"`, "how boxes are sealed"},
		{"a client of Kafka in a test", "stream/x_test.go", `import "github.com/twmb/franz-go/pkg/kgo"`, ""},
		{"a library without a door", "stream/x.go", `import "example.com/new"`, "no door"},
		{"Spark from below", "stream/x.go", `import "cancha/spark"`, "reached from above"},
		{"the page asks the list", "runtime/monitor/x.go", `import "cancha/stream"`, "by the list"},
		{"unsafe", "stream/x.go", `import "unsafe"`, "behind the compiler's back"},
		{"unsafe in the decoder", "stream/internal/decode/json.go", `import "unsafe"`, ""},
		{"cgo", "stream/x.go", `import "C"`, "pure Go"},
		{"a suite in the program", "stream/x.go", `import "cancha/stream/streamtest"`, "by tests only"},
		{"a suite of the standard library", "stream/x.go", `import "net/http/httptest"`, ""},
		{"an init function", "stream/x.go", `func init() {}`, "init function"},
		{"a method called init", "stream/x.go", `func (t T) init() {}`, ""},
		{"linkname", "stream/x.go", "//go:linkname a b.c\nfunc a()", "go:linkname"},
		{"a room without a purpose", "stream/util/x.go", "", "says nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			room := path.Base(path.Dir(test.file))
			head := fmt.Sprintf("// Package %s is here to be looked at, and ends with its test.\npackage %s\n\n", room, room)
			if path.Dir(test.file) == "cmd/cancha" {
				head = "// Command cancha is here to be looked at, and ends with its test.\npackage main\n\n"
			}
			faults, _ := inspect(t, fstest.MapFS{test.file: {Data: []byte(head + test.text + "\n")}})
			switch {
			case test.want == "" && len(faults) > 0:
				t.Errorf("got %q, want no fault", faults)
			case test.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], test.want)):
				t.Errorf("got %q, want one fault with %q", faults, test.want)
			}
		})
	}
}

func TestGenerated(t *testing.T) {
	head := "// Package p is here to be looked at, and ends with its test.\npackage p\n\n"
	text := "// Code generated by x. DO NOT EDIT.\n\n" + head + "func init() {}\n"
	if faults, _ := inspect(t, fstest.MapFS{"p/x.go": {Data: []byte(text)}}); len(faults) > 0 {
		t.Errorf("got %q, want no fault", faults)
	}
}

func TestSentence(t *testing.T) {
	for _, test := range []struct{ name, comment, want string }{
		{"none", "", "0 package comments"},
		{"another name", "// Package q is not the name of this package.", "must open with"},
		{"no sentence", "// Package p", "must open with"},
		{"good", "// Package p is what it is, and it ends here.", ""},
	} {
		faults, _ := inspect(t, fstest.MapFS{"p/x.go": {Data: []byte(test.comment + "\npackage p\n")}})
		if got := strings.Join(faults, "; "); (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
