//go:build !windows

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cancha/internal/symbols"
)

// ownProgram is a program of somebody's own.
const ownProgram = `package main

import (
	"context"
	"fmt"
	"time"

	"cancha/stream"
	"cancha/stream/shop"
)

func main() {
	day, err := shop.Open(context.Background(), shop.Config{Records: 500})
	if err != nil {
		panic(err)
	}
	running, err := stream.From(day.Source("orders")).
		EventTime(stream.Field("created").AsTime()).GroupBy("city").Window(stream.Tumbling(time.Hour)).Agg(stream.Count("orders")).
		Start(context.Background())
	if err != nil {
		panic(err)
	}
	if err := running.Wait(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(running.Totals().Records > 0)
}
`

// TestMod: a program in a module of its own imports the library, in an empty home, and every room that cells may import is there.
func TestMod(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	caches, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules, compiled, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	goCommand := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "HOME="+home, "GOMODCACHE="+modules, "GOCACHE="+compiled, "GOPROXY=off", "GOFLAGS=-mod=mod")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %v: %v\n%s%s", args, err, out, errs.String())
		}
		return string(out)
	}
	goCommand(dir, "mod", "init", "example.com/service")
	if err := runMod(t.Context(), []string{dir}); err != nil {
		t.Fatal(err)
	}
	rooms := goCommand(filepath.Join(dir, "cancha"), "list", "-deps", "-f", "{{with .Error}}{{.}}{{end}}{{.ImportPath}}", "./...")
	for _, p := range symbols.Packages() {
		if strings.HasPrefix(p.Path, "cancha/") && !strings.Contains(rooms, "\n"+p.Path+"\n") {
			t.Errorf("%s is not there", p.Path)
		}
	}
	if testing.Short() {
		return // building takes seconds
	}
	sums, err := os.ReadFile(filepath.Join(dir, "cancha", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.go": ownProgram, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goCommand(dir, "vet", "./...")
	if got := goCommand(dir, "run", "."); got != "true\n" {
		t.Errorf("the service prints %q", got)
	}
}
