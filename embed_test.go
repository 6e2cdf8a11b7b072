package cancha_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha"
)

// platforms are those that the program is built for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// TestSourcesAreComplete: what the go command needs to build the program on any platform is in the tree, and nothing else but
// files of the same rooms that other build tags choose.
func TestSourcesAreComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	want, may := map[string]bool{"go.mod": true, "go.sum": true, "LICENSE": true}, map[string]bool{}
	for _, p := range platforms {
		needs, ignored := needed(t, ".", p)
		maps.Copy(want, needs)
		maps.Copy(may, ignored)
	}
	got := map[string]bool{}
	for _, name := range tree(t) {
		got[name] = true
		if !want[name] && !may[name] {
			t.Errorf("%s is embedded, and building the program does not take it: take its pattern out of embed.go", name)
		}
	}
	for name := range want {
		if !got[name] {
			t.Errorf("%s is not embedded: add it, or a pattern for its room, to embed.go", name)
		}
	}
	if len(got) < 300 {
		t.Errorf("%d files embedded: this is not the program", len(got))
	}
}

// TestSourcesStandAlone: written out elsewhere, the tree is a module in which the go command finds all that it needs.
func TestSourcesStandAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, cancha.Sources()); err != nil {
		t.Fatal(err)
	}
	if needs, _ := needed(t, dir, platforms[0]); len(needs) < 300 {
		t.Errorf("the go command finds %d files in it", len(needs))
	}
}

func tree(t *testing.T) (all []string) {
	t.Helper()
	err := fs.WalkDir(cancha.Sources(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// needed asks the go command which files of the module in dir the program is built from, plainly and as a workspace's engine, with
// GPUs and without, and the rooms that are compiled when a cell imports them, and which Go files of their rooms it is not.
func needed(t *testing.T, dir, platform string) (needs, ignored map[string]bool) {
	t.Helper()
	needs, ignored = map[string]bool{}, map[string]bool{}
	for _, tags := range []string{"", "workspace", "workspace,nvidia"} {
		for _, p := range list(t, dir, platform, tags, append([]string{"./cmd/cancha"}, cancha.OnImport()...)) {
			if p.Module == nil || !p.Module.Main {
				continue
			}
			root, err := filepath.EvalSymlinks(p.Module.Dir)
			if err != nil {
				t.Fatal(err)
			}
			room, err := filepath.Rel(root, p.Dir)
			if err != nil {
				t.Fatal(err)
			}
			files := slices.Concat(p.GoFiles, p.CgoFiles, p.SFiles, p.HFiles, p.CFiles)
			if room != "." { // what the root embeds is what is looked into
				files = append(files, p.EmbedFiles...)
			}
			for _, name := range files {
				needs[path.Join(filepath.ToSlash(room), name)] = true
			}
			for _, name := range p.IgnoredGoFiles {
				ignored[path.Join(filepath.ToSlash(room), name)] = !strings.HasSuffix(name, "_test.go")
			}
		}
	}
	return needs, ignored
}

type listed struct {
	ImportPath, Dir                                       string
	ImportMap                                             map[string]string // of a path in the files to the package's, where they differ
	GoFiles, CgoFiles, SFiles, HFiles, CFiles, EmbedFiles []string
	IgnoredGoFiles                                        []string
	Module                                                *struct {
		Main bool
		Dir  string
	}
}

func list(t *testing.T, dir, platform, tags string, packages []string, env ...string) (all []listed) {
	t.Helper()
	goos, arch, _ := strings.Cut(platform, "/")
	args := append([]string{"list", "-deps", "-tags=" + tags, "-json=ImportPath,ImportMap,Dir,GoFiles,CgoFiles,SFiles,HFiles,CFiles,EmbedFiles,IgnoredGoFiles,Module"}, packages...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PWD="+dir, "GOOS="+goos, "GOARCH="+arch, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=1")
	cmd.Env = append(cmd.Env, env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v\n%s", platform, err, said.String())
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
