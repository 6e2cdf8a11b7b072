package house

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
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
	for _, m := range regexp.MustCompile("`((?:cmd|internal|jobs|jupyter|kernel|ml|runtime|spark|statsbomb|stream)/[a-z/]+)`").FindAllStringSubmatch(tour, -1) {
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

// link matches a link or a picture in a text of Markdown: to a file, to a heading, or to both.
var link = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)|src="([^":]*)"`)

// TestLinks: links between the texts of this repository lead to files and headings that are there.
func TestLinks(t *testing.T) {
	tree := os.DirFS("../..")
	texts, err := fs.Glob(tree, "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, text := range append(texts, "README.md", "CONTRIBUTING.md", "CHANGELOG.md") {
		for _, m := range link.FindAllStringSubmatch(readDoc(t, tree, text), -1) {
			found++
			to := text
			if file := m[1] + m[3]; file != "" {
				to = path.Join(path.Dir(text), file)
			}
			if _, err := fs.Stat(tree, to); err != nil {
				t.Errorf("%s: %s: %v", text, m[0], err)
			} else if m[2] != "" && !slices.Contains(anchors(readDoc(t, tree, to)), m[2]) {
				t.Errorf("%s: %s: %s has no such heading", text, m[0], to)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d links seen: the pattern has missed some", found)
	}
}

// anchors lists the headings of a text as links name them on GitHub.
func anchors(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// TestFigures: each figure of the notebooks says what its data is, as the README promises. Where that is a matter of machines, it names those.
func TestFigures(t *testing.T) {
	tree := os.DirFS("../..")
	names, err := fs.Glob(tree, "notebooks/*.ipynb")
	if err != nil || len(names) == 0 {
		t.Fatalf("got notebooks %v, %v", names, err)
	}
	measured, machine := regexp.MustCompile(`seconds"|"Measured"`), regexp.MustCompile(`cpu\.Label|machines`)
	for _, name := range names {
		var book struct{ Cells []struct{ Source []string } }
		if err := json.Unmarshal([]byte(readDoc(t, tree, name)), &book); err != nil {
			t.Fatal(err)
		}
		for _, c := range book.Cells {
			for i, options := range strings.Split(strings.Join(c.Source, ""), "chart.Options{") {
				if i == 0 {
					continue
				}
				switch _, caption, has := strings.Cut(options, "Caption:"); {
				case !has:
					t.Errorf("%s: a figure without a caption: %.80q", name, options)
				case measured.MatchString(options) && !machine.MatchString(caption):
					t.Errorf("%s: a figure of times that names no machine: %.80q", name, options)
				}
			}
		}
	}
}

// TestParts: each target of the Makefile that tests something is a part of "make test-all", and each part calls a target.
func TestParts(t *testing.T) {
	tree := os.DirFS("../..")
	notTests := []string{
		"help", "build", "lab", "dist", "release", "pictures", "gpu-pack", "symbols", "kernelspec", "cuda", "ptx", "test-all",
		"bench", "bench-kernel", "bench-stream", "bench-gpu", "bench-rooms", "bench-peers", "bench-checkpoint", "bench-forest", "bench-spark", "bench-jobs",
	}
	targets := map[string]bool{} // whether a part calls it
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(readDoc(t, tree, "Makefile"), -1) {
		targets[m[1]] = slices.Contains(notTests, m[1])
	}
	_, table, _ := strings.Cut(readDoc(t, tree, "scripts/test-all.sh"), "\nparts='")
	table, _, _ = strings.Cut(table, "\n'\n")
	for _, m := range regexp.MustCompile(`(?m)\| make ([a-z-]+)`).FindAllStringSubmatch(table, -1) {
		if _, ok := targets[m[1]]; !ok {
			t.Errorf("scripts/test-all.sh calls \"make %s\", which the Makefile does not list", m[1])
		}
		targets[m[1]] = true
	}
	for name, called := range targets {
		if !called {
			t.Errorf("scripts/test-all.sh has no part that calls \"make %s\"", name)
		}
	}
	if len(targets) < 20 {
		t.Errorf("%d targets seen: the Makefile has been misread", len(targets))
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
