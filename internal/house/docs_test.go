package house

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTour: docs/ARCHITECTURE.md names every room, so that a reader finds them all.
func TestTour(t *testing.T) {
	tree := os.DirFS("../..")
	sources, err := parse(tree)
	if err != nil {
		t.Fatal(err)
	}
	tour := readDoc(t, tree, "docs/ARCHITECTURE.md")
	seen := map[string]bool{}
	for _, s := range sources {
		if room := s.room(); !seen[room] && !strings.Contains(tour, "`"+room+"`") {
			t.Errorf("docs/ARCHITECTURE.md does not name %s", room)
		}
		seen[s.room()] = true
	}
	for _, m := range regexp.MustCompile("`((?:cmd|internal|jupyter|kernel|ml|runtime|statsbomb|stream)/[a-z/]+)`").FindAllStringSubmatch(tour, -1) {
		if !seen[m[1]] {
			t.Errorf("docs/ARCHITECTURE.md names %s, which is no room", m[1])
		}
	}
}

// TestReasons: docs/RATIONALE.md gives a reason for each direct dependency, and for no other.
func TestReasons(t *testing.T) {
	tree := os.DirFS("../..")
	text := readDoc(t, tree, "docs/RATIONALE.md")
	_, table, _ := strings.Cut(text, "## Direct dependencies")
	reasons := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z0-9.]+\.[a-z]+/\S+) \|`).FindAllStringSubmatch(table, -1) {
		reasons[m[1]] = true
	}
	required := map[string]bool{}
	for line := range strings.Lines(readDoc(t, tree, "go.mod")) {
		line = strings.TrimSpace(line)
		if name, _, ok := strings.Cut(line, " v"); ok && strings.Contains(name, "/") && !strings.HasSuffix(line, "// indirect") {
			required[name] = true
			if !reasons[name] {
				t.Errorf("docs/RATIONALE.md gives no reason for %s", name)
			}
		}
	}
	for name := range reasons {
		if !required[name] {
			t.Errorf("docs/RATIONALE.md gives a reason for %s, which go.mod does not require directly", name)
		}
	}
	if len(required) < 5 {
		t.Errorf("%d dependencies seen: go.mod has been misread", len(required))
	}
}

func readDoc(t *testing.T, tree fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
