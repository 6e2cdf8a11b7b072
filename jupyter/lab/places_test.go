package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// VS Code and others build the image from a stage that is there, run as its user, and ask the kernel for completions behind a dot, which
// they do not do for Go by themselves.
func TestDevcontainer(t *testing.T) {
	var c struct {
		Build          struct{ Dockerfile, Context, Target string }
		RemoteUser     string
		Customizations struct {
			VSCode struct {
				Extensions []string
				Settings   map[string]map[string][]string
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, ".devcontainer/devcontainer.json")), &c); err != nil {
		t.Fatal(err)
	}
	if got := filepath.Join(".devcontainer", c.Build.Context); got != "." {
		t.Errorf("the image is built from %s, want the root", got)
	}
	image := read(t, filepath.Join(".devcontainer", c.Build.Dockerfile))
	if !strings.Contains(image, " AS "+c.Build.Target+"\n") {
		t.Errorf("%s has no stage %q", c.Build.Dockerfile, c.Build.Target)
	}
	if !strings.HasSuffix(image, "USER "+c.RemoteUser+"\n") {
		t.Errorf("the image's last user is not %q", c.RemoteUser)
	}
	vscode := c.Customizations.VSCode
	if !slices.Contains(vscode.Extensions, "ms-toolsai.jupyter") {
		t.Errorf("extensions %q lack Jupyter's", vscode.Extensions)
	}
	if got := vscode.Settings["jupyter.completionTriggerCharacters"]["go"]; !slices.Equal(got, []string{"."}) {
		t.Errorf("completions for Go are asked for behind %q, want a dot", got)
	}
}

// Binder runs postBuild, which has to be executable, with the Go that go.mod asks for; its packages are those of the image.
func TestBinder(t *testing.T) {
	info, err := os.Stat(filepath.Join(root, "binder/postBuild"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&0o111 == 0 {
		t.Error("postBuild is not executable")
	}
	want := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(read(t, "go.mod"))[1]
	if !strings.Contains(read(t, "binder/postBuild"), "\ngo="+want+" ") {
		t.Errorf("postBuild does not take Go %s, which go.mod asks for", want)
	}
	have := read(t, "jupyter/lab/requirements.txt")
	for line := range strings.Lines(read(t, "binder/requirements.txt")) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(have, line) {
			t.Errorf("%q differs from jupyter/lab/requirements.txt", strings.TrimSpace(line))
		}
	}
}
