package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

// estimate is the number of seconds that a line says are left, 0 where it says none.
func estimate(t *testing.T, line string) (seconds int) {
	t.Helper()
	_, rest, ok := strings.Cut(line, "about ")
	if !ok {
		return 0
	}
	if _, err := fmt.Sscanf(rest, "%d s left", &seconds); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return seconds
}

// TestProgressCountsDown: while one package is compiled, the estimate gets less with each second, and when that is used up there is none.
func TestProgressCountsDown(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), make([]byte, 10*usualSpeed), 0o600); err != nil {
		t.Fatal(err)
	}
	large := listed{ImportPath: "large", Dir: dir, GoFiles: []string{"x.go"}, Stale: true}
	synctest.Test(t, func(t *testing.T) {
		p := newProgress("building", filepath.Join(dir, "progress"), func(string) {})
		defer p.close()
		p.expect([]listed{large})
		if got := estimate(t, p.text()); got != 10 {
			t.Errorf("before it begins: got %d s, want 10", got)
		}
		p.line("large")
		for second := range 10 {
			if got := estimate(t, p.text()); got != 10-second {
				t.Errorf("after %d s: got %d s left, want %d", second, got, 10-second)
			}
			time.Sleep(time.Second)
		}
		time.Sleep((lateness + 1) * time.Second)
		if got := p.text(); !strings.Contains(got, "longer than expected") || estimate(t, got) != 0 {
			t.Errorf("after all that: got %q", got)
		}
	})
}

// TestProgressLearns: how long the packages have taken that are done decides what is expected of the rest.
func TestProgressLearns(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), make([]byte, usualSpeed), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []listed
	for i := range 200 {
		all = append(all, listed{ImportPath: fmt.Sprint("p", i), Dir: dir, GoFiles: []string{"x.go"}, Stale: true})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newProgress("building", filepath.Join(dir, "progress"), func(string) {})
		defer p.close()
		p.expect(all)
		first := estimate(t, p.text())
		for i := range 100 { // each takes three times as long as expected
			p.line(fmt.Sprint("p", i))
			time.Sleep(3 * time.Second / time.Duration(p.processors()))
		}
		if got := estimate(t, p.text()); got < first || got > 2*first {
			t.Errorf("half of it is done, at a third of the speed: got %d s left, and %d before", got, first)
		}
	})
}
