//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEncrypt: with -encrypt the connection file, which only its user can read, has CURVE's keys, and cells run; without it there are none.
func TestEncrypt(t *testing.T) {
	dir := t.TempDir()
	const cell = `line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid())) // of the kernel: cancha kernel FILE
path := strings.Split(string(line), "\x00")[2]
file, _ := os.ReadFile(path)
info := must(os.Stat(path))
said := fmt.Sprintln("keys", strings.Count(string(file), "\"curve_"), "mode", info.Mode())
must(0, os.WriteFile("said.txt", []byte(said), 0o600))`
	write(t, filepath.Join(dir, "n.ipynb"), "", cell)
	writeFile(t, dir, "q.go", cell)
	for _, c := range []struct {
		args string
		code int // a query that nothing has started is a failure
		want string
	}{
		{"run n.ipynb", 0, "keys 0 mode -rw-------"},
		{"run -encrypt n.ipynb", 0, "keys 2 mode -rw-------"},
		{"query q.go", 1, "keys 0 mode -rw-------"},
		{"query -encrypt q.go", 1, "keys 2 mode -rw-------"},
	} {
		code, _, stderr := outcome(t, dir, strings.Fields(c.args)...)
		said, _ := os.ReadFile(filepath.Join(dir, "said.txt"))
		if code != c.code || strings.TrimSpace(string(said)) != c.want {
			t.Errorf("cancha %s: exit code %d, got %q, want %d and %q\n%s", c.args, code, said, c.code, c.want, stderr)
		}
		_ = os.Remove(filepath.Join(dir, "said.txt"))
	}
}
