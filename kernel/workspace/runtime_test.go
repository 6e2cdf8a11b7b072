package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMendRuntime: what lists and what builds compiles package runtime with the changed function, or with none written into others.
func TestMendRuntime(t *testing.T) {
	for _, row := range []struct{ name, source, want string }{
		{"as it is known", "package runtime\n\nfunc efaceOf(ep *any) *eface {\n", "-overlay="},
		{"without that function", "package runtime\n", "-gcflags=runtime=-dynlink -l"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPlace(t)
			p.write("goroot/src/runtime/"+runtimeName, row.source, 0o644)
			w := p.ensure(p.store())
			for _, c := range p.calls("list", "build") {
				if !slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, row.want) }) {
					t.Errorf("go %s lacks %s", strings.Join(c.Args, " "), row.want)
				}
			}
			text, err := os.ReadFile(filepath.Join(w.Dir, runtimeName))
			if changed := "\n//go:noinline\nfunc efaceOf("; row.want == "-overlay=" && !strings.Contains(string(text), changed) {
				t.Errorf("%v; got %q, want %q in it", err, text, changed)
			}
		})
	}
}

// TestHookExit: what builds compiles package os with a call of the hook, and with the file that has it.
func TestHookExit(t *testing.T) {
	p := newPlace(t)
	p.write("goroot/src/os/"+exitName, "package os\n\nfunc Exit(code int) {\n\tsyscall.Exit(code)\n}\n", 0o644)
	w := p.ensure(p.store())
	for name, want := range map[string]string{exitName: "func Exit(code int) {\n\tbeforeExit(code)\n", hookName: "//go:linkname exitHook\n", overlayName: hookName} {
		if text, err := os.ReadFile(filepath.Join(w.Dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v; got %q, want %q in it", name, err, text, want)
		}
	}
}

// TestMendThisRuntime: the toolchain of this machine has the function that is kept apart, and scripts/build.sh does the same.
func TestMendThisRuntime(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", runtimeName))
	if err != nil || len(apart.FindAll(text, -1)) != 1 {
		t.Errorf("%v; got %d functions efaceOf in %s, want 1", err, len(apart.FindAll(text, -1)), runtimeName)
	}
	text, err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "os", exitName))
	if err != nil || len(exits.FindAll(text, -1)) != 1 {
		t.Errorf("%v; got %d functions Exit in %s, want 1", err, len(exits.FindAll(text, -1)), exitName)
	}
	text, err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "reflect", typeName))
	if err != nil || len(parts.FindAll(text, -1)) != 3 {
		t.Errorf("%v; got %d hashes of parts in %s, want 3", err, len(parts.FindAll(text, -1)), typeName)
	}
	script, err := os.ReadFile("../../scripts/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	if want := `s|^func efaceOf(|//go:noinline\` + "\n&|"; !strings.Contains(string(script), want) {
		t.Errorf("scripts/build.sh does not change %s by %s", runtimeName, want)
	}
}
