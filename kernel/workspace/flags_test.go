package workspace

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOneCompilation: packages are listed and the engine is built with the same flags, or each would be compiled twice.
func TestOneCompilation(t *testing.T) {
	p := newPlace(t)
	p.ensure(p.store())
	seen := 0
	for _, c := range p.calls("list", "build") {
		seen++
		for _, flag := range loadable() {
			if !slices.Contains(c.Args, flag) {
				t.Errorf("go %s lacks %s", strings.Join(c.Args, " "), flag)
			}
		}
		if slices.Contains(c.Args, "-buildmode=plugin") {
			t.Errorf("go %s compiles for plugins alone", strings.Join(c.Args, " "))
		}
	}
	if seen < 2 {
		t.Errorf("%d commands seen that compile", seen)
	}
}

// scripts/build.sh compiles cmd/bootstrap as the engine is, so that what the two share is compiled once.
func TestBootstrapSharesItsPackages(t *testing.T) {
	text, err := os.ReadFile("../../scripts/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(loadable(), " "); !strings.Contains(string(text), want) {
		t.Errorf("scripts/build.sh does not compile with %s", want)
	}
}
