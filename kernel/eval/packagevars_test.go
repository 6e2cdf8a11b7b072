package eval_test

import (
	"flag"
	"image"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"
)

// TestPackageVariables: what a cell assigns to a variable of a package stands there, whatever expression it is.
func TestPackageVariables(t *testing.T) {
	once(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	keepPackageVariables(t)
	for _, c := range []struct{ name, cell, want string }{
		{"a call", "time.Local = time.FixedZone(\"X\", 3600)\nfmt.Print(time.Local)", "X"},
		{"a literal", "os.Args = []string{\"x\", \"-q\", \"7\"}\nfmt.Print(os.Args)", "[x -q 7]"},
		{"an append", "os.Args = append([]string{\"x\"}, \"y\")\nfmt.Print(os.Args)", "[x y]"},
		{"a make", "os.Args = make([]string, 2)\nfmt.Print(len(os.Args))", "2"},
		{"a slice", "all := []string{\"x\", \"y\"}\nos.Args = all[:1]\nfmt.Print(os.Args)", "[x]"},
		{"a receive", "c := make(chan error, 1)\nc <- errors.New(\"e\")\nold := io.EOF\nio.EOF = <-c\nfmt.Print(io.EOF)\nio.EOF = old", "e"},
		{"a conversion", "old := io.EOF\nio.EOF = error(errors.New(\"e\"))\nfmt.Print(io.EOF)\nio.EOF = old", "e"},
		{"an assertion", "var x any = errors.New(\"e\")\nold := io.EOF\nio.EOF = x.(error)\nfmt.Print(io.EOF)\nio.EOF = old", "e"},
		{"a map's element", "m := map[string]error{\"a\": errors.New(\"e\")}\nold := io.EOF\nio.EOF = m[\"a\"]\nfmt.Print(io.EOF)\nio.EOF = old", "e"},
		{"a pointer's", "e := errors.New(\"e\")\np := &e\nold := io.EOF\nio.EOF = *p\nfmt.Print(io.EOF)\nio.EOF = old", "e"},
		{"a field", "s := struct{ E error }{errors.New(\"e\")}\nold := io.EOF\nio.EOF = s.E\nfmt.Print(io.EOF)\nio.EOF = old", "e"},
		{"a cell's error", "type E struct{}\nfunc (E) Error() string { return \"e\" }\nold := io.EOF\nio.EOF = E{}\nfmt.Print(io.EOF)\nio.EOF = old", "e"},
		{"nil", "old := http.DefaultServeMux\nhttp.DefaultServeMux = nil\nfmt.Print(http.DefaultServeMux == nil)\nhttp.DefaultServeMux = old", "true"},
		{"new", "http.DefaultServeMux = http.NewServeMux()\nhttp.HandleFunc(\"/x\", func(http.ResponseWriter, *http.Request) {})\nfmt.Print(fmt.Sprint(http.DefaultServeMux) != fmt.Sprint(http.NewServeMux()))", "true"},
		{"in parentheses", "(time.Local) = time.FixedZone(\"P\", 0)\nfmt.Print(time.Local)", "P"},
		{"two", "os.Args, time.Local = []string{\"z\"}, time.FixedZone(\"Z\", 0)\nfmt.Print(os.Args, time.Local)", "[z] Z"},
		{"results", "f := func() (*time.Location, []string) { return time.FixedZone(\"R\", 0), []string{\"r\"} }\ntime.Local, os.Args = f()\nfmt.Print(os.Args, time.Local)", "[r] R"},
		{"an operation", "n := func() int { return 2 }\nruntime.MemProfileRate = 100\nruntime.MemProfileRate *= n()\nruntime.MemProfileRate++\nfmt.Print(runtime.MemProfileRate)", "201"},
		{"a field of a struct", "n := func() uint16 { return 2 }\ncolor.Black.Y = n()\nfmt.Print(color.Black)\ncolor.Black.Y = 0", "{2}"},
		{"a field's operation", "n := func() uint16 { return 2 }\ncolor.Black.Y += n()\nfmt.Print(color.Black)\ncolor.Black = color.Gray16{}", "{2}"},
		{"a pointer", "image.Black = image.NewUniform(color.White)\nfmt.Print(image.Black.C)", "{65535}"},
		{"a field of a variable", "http.DefaultClient.Timeout = time.Duration(3) * time.Second\nfmt.Print(http.DefaultClient.Timeout)\nhttp.DefaultClient.Timeout = 0", "3s"},
		{"an element", "os.Args = []string{\"a\", \"b\"}\nos.Args[1] = strings.ToUpper(\"c\")\nfmt.Print(os.Args)", "[a C]"},
		{"a range", "for _, flag.Usage = range []func(){func() { fmt.Print(\"used\") }} {\n}\nflag.Usage()", "used"},
		{"a function", "flag.Usage = func() { fmt.Print(\"usage\") }\nflag.Usage()", "usage"},
		{"in a function", "func set() { time.Local = time.FixedZone(\"F\", 0) }\nset()\nfmt.Print(time.Local)", "F"},
		{"in a branch", "if time.Local = time.FixedZone(\"I\", 0); true {\n\tfmt.Print(time.Local)\n}", "I"},
		{"in a loop", "for i := 0; i < 2; time.Local = time.FixedZone(fmt.Sprint(\"L\", i), 0) {\n\ti++\n}\nfmt.Print(time.Local)", "L2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(c.cell)
			if got := n.stream("stdout"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// keepPackageVariables gives variables of this process that the cells above assign their values back: with another profile rate each allocation
// walks the stack, which takes tests of deep recursions minutes.
func keepPackageVariables(t *testing.T) {
	local, args, mux, usage, black, rate := time.Local, os.Args, http.DefaultServeMux, flag.Usage, image.Black, runtime.MemProfileRate
	t.Cleanup(func() {
		time.Local, os.Args, http.DefaultServeMux, flag.Usage, image.Black, runtime.MemProfileRate = local, args, mux, usage, black, rate
	})
}
