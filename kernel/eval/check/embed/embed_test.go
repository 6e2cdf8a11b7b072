package embed

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes a module with files of all kinds.
func tree(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, name := range []string{
		"a.txt", "b.txt", ".hidden", "_under", "two words.txt", "d/x.txt", "d/y.md", "d/.h", "d/_u", "d/e/z.txt", "d/.g/in", "d/_i/in", "only/.keep",
		"mod/go.mod", "mod/x.txt", "deep/mod/go.mod", "deep/mod/x", "deep/own", ".git/config", "v/.git/x", "v/w", "é/ü.txt", "d.x/f", "d-x/f",
		"names/ok.txt", "names/it's.txt", "names/a*b.txt", "names/a:b.txt", "names/con.txt", "names/dot.", "names/q\"q.txt", "names/pipe|x/in.txt", "names/abcdef~1.txt", "names/a;b,c.txt",
		"names/(1) [2] {3}.txt", "names/ü&=.txt", "names/tab\t.txt", "bad'/in.txt", "noble'/bad'/x", "prn/x.txt", "com1", "some/ok.txt", "some/a'/in.txt", "some/.it's", "some/_it's",
	} {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		text := ""
		if filepath.Base(name) == "go.mod" {
			text = "module m" + fmt.Sprint(len(name)) + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.txt": "a.txt", "linked": "d", "d/link": "../a.txt"} {
		if err := os.Symlink(to, filepath.Join(folder, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module example.org/tree\n\ngo 1.25\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return folder
}

// asGo is what the go command says of the same directive.
func asGo(t *testing.T, folder, args string) (files []string, fault string) {
	t.Helper()
	source := "package tree\n\nimport \"embed\"\n\n//go:embed " + args + "\nvar files embed.FS\n"
	if err := os.WriteFile(filepath.Join(folder, "tree.go"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-e", "-json=EmbedFiles,Error", ".")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		EmbedFiles []string
		Error      *struct{ Err string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Error != nil {
		return nil, answer.Error.Err
	}
	return answer.EmbedFiles, ""
}

// TestAsGo: a directive names the files that the go command finds for it, and is refused for its reason.
func TestAsGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to compare with")
	}
	folder := tree(t)
	for _, args := range []string{
		"a.txt", "a.txt b.txt a.txt", "*.txt", "*", "d", "all:d", "d/*", "all:d/*", "d/e d", ".hidden", "_under", `"two words.txt" a.txt`, "`two words.txt`",
		"only", "all:only", "only/*", "mod", "mod/x.txt", "deep", "deep/mod/x", "deep/*", ".git", ".git/config", "v", "all:v", "v/*", "link.txt", "linked", "linked/x.txt", "d/link",
		"missing", "[a-b].txt", "[", "é", "é/*", "d.x d-x d", ".", "..", "../x", "/a.txt", "d/", "./a.txt", "d//x.txt", "a.txt/", "all:", "all:*", `""`, "?.txt",
		"\ta.txt\tb.txt ",
		"names", "all:names", "names/*", "names/it's.txt", "names/a?b.txt", "names/con.txt", "names/dot.", "names/dot?", "bad'", "bad'/in.txt", "bad'/*", "noble'", "prn", "prn/x.txt", "com1", "com?",
		"names/ab*.txt", "names/ok.txt names/*~1.txt", "names/(*", `"names/ü&=.txt"`, "names/pipe*", "names/pipe*/*", "some", "all:some", "some/*",
	} {
		want, fault := asGo(t, folder, args)
		var got []string
		patterns, err := Patterns(args)
		if err == nil {
			got, err = Files(folder, patterns)
		}
		if (err != nil) != (fault != "") {
			t.Errorf("%s: got %q and error %v; Go: %q and error %q", args, got, err, want, fault)
			continue
		}
		if err != nil {
			if text := strings.TrimSuffix(err.Error(), " in "+folder); !strings.Contains(fault, text) {
				t.Errorf("%s: the error is %q; Go's is %q", args, text, fault)
			}
			continue
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, Go finds %q", args, got, want)
		}
	}
}

func TestNoPattern(t *testing.T) {
	for _, args := range []string{"", " \t", `"a.txt`, `"a.txt"b.txt`, "a `b"} {
		if got, err := Patterns(args); err == nil {
			t.Errorf("%q names %q", args, got)
		}
	}
}
