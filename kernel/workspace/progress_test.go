package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgress: what the go command prints becomes one line that says how far it is.
func TestProgress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress")
	p := newProgress("building", file, func(string) {})
	defer p.close()
	p.expect([]listed{
		{ImportPath: "cancha/kernel/eval", Stale: true}, {ImportPath: "cancha/stream", Stale: true}, {ImportPath: "fmt", Stale: true}, {ImportPath: "os"},
	})
	for _, step := range []struct{ name, line, want string }{
		{"nothing yet", "", "building: 0 of 3 packages, "},
		{"a package", "cancha/kernel/eval", "building: 1 of 3 packages, "},
		{"a module", "go: downloading gonum.org/v1/plot v0.17.0", "building: 1 of 3 packages, fetching gonum.org/v1/plot v0.17.0, "},
		{"a complaint", "# cancha/kernel", "building: 1 of 3 packages, fetching"},
		{"the next package", "cancha/stream", "building: 2 of 3 packages, "},
		{"the last", "fmt", "building: 3 of 3 packages, "},
		{"one too many", "os", "building: 3 of 3 packages, "},
	} {
		p.line(step.line)
		if got := p.text(); !strings.HasPrefix(got, step.want) || !strings.HasSuffix(got, " s") {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	p.expect([]listed{{ImportPath: "a", Stale: true}, {ImportPath: "b", Stale: true}})
	if got := p.text(); !strings.HasPrefix(got, "building: 4 of 6 packages, ") {
		t.Errorf("two more after four: got %q", got)
	}
	p.phase("linking")
	if got := p.text(); !strings.HasPrefix(got, "linking: ") || strings.Contains(got, "packages") {
		t.Errorf("the next phase: got %q", got)
	}
}

// Those who wait read it; once the build is over there is nothing to read.
func TestProgressFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress")
	told := make(chan string, 100)
	p := newProgress("building", file, func(line string) { told <- line })
	<-told
	p.close()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}
