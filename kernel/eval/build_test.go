package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/kernel/eval"
)

// TestCompilerIsCalledOnce: the C compiler links a cell's plugin, and compiles none of the programs with which Go's linker tries flags.
// Where the short way does not work, the cell is linked all the same.
func TestCompilerIsCalledOnce(t *testing.T) {
	has := tools(t)
	if has == nil {
		t.Skip("cells cannot be compiled")
	}
	for name, c := range map[string]struct {
		fails string // a call that the compiler refuses, once
		want  int
	}{
		"short": {`*nothing*`, 1},
		"long":  {`*/cell.so*`, 4},
	} {
		own, folder := *has, t.TempDir()
		own.Cache, own.CC = filepath.Join(folder, "a cache"), filepath.Join(folder, "cc")
		calls, failed := filepath.Join(folder, "calls"), filepath.Join(folder, "failed")
		script := fmt.Sprintf("#!/bin/sh\necho call >> %s\ncase \"$*\" in %s) if ! [ -e %s ]; then touch %[3]s; exit 1; fi;; esac\nexec %s \"$@\"\n", calls, c.fails, failed, has.CC)
		if err := os.WriteFile(own.CC, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		n := newConfiguredNotebook(t, eval.Config{Slow: time.Hour, Native: &own})
		n.ok("func "+name+"(x int) int { return 3 * x }", "fmt.Println("+name+"(14))") // the second waits for the first's build
		if got := lastLine(n.stream("stdout")); got != "42" {
			t.Errorf("%s: got %q", name, got)
		}
		text, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "call"); got != c.want {
			t.Errorf("%s: the compiler was called %d times, want %d", name, got, c.want)
		}
	}
}
