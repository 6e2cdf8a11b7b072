package workspace

import (
	"errors"
	"strings"
	"testing"
)

// TestRefusal: of what the go command says, one line says why.
func TestRefusal(t *testing.T) {
	for _, c := range []struct{ name, said, want string }{
		{"a proxy that refuses", "go: a imports\n\tb: github.com/aws/sdk@v1.47.8: reading https://proxy.golang.org/github.com/aws/sdk/@v/v1.47.8.zip: 403 Forbidden\n\tserver response: no",
			"the module proxy does not give github.com/aws/sdk@v1.47.8 (403 Forbidden): try another version"},
		{"a proxy that hides", "go: github.com/a/none: module github.com/a/none: reading https://proxy.golang.org/github.com/a/none/@v/list: 403 Forbidden", "there may be no such module"},
		{"no network", "go: dial tcp: lookup proxy.golang.org: no such host", "could not be fetched (no such host): connect to the network"},
		{"no proxy allowed", "go: example.com/m: module lookup disabled by GOPROXY=off", "GOPROXY=off forbids to fetch it"},
		{"no module", "go: example.com/none@latest: unrecognized import path \"example.com/none\": reading https://example.com: 404 Not Found", "there is no such module"},
		{"a newer Go", "go: example.com/m@v1.0.0 requires go >= 1.30 (running go 1.26.8; GOTOOLCHAIN=local)", "it needs Go 1.30 or newer"},
		{"a header", "# x\nx.c:1:10: fatal error: zlib.h: No such file or directory", "the C compiler lacks the header zlib.h"},
		{"no C compiler", "cgo: C compiler \"gcc\" not found", "it needs the C compiler gcc"},
		{"no git", "go: example.com/m@v1.0.0: git init --bare: exec: \"git\": executable file not found in $PATH", "it needs the command git, which"},
		{"no pkg-config", "# x\nexec: \"pkg-config\": executable file not found in $PATH", "it needs the command pkg-config, which"},
		{"a C library", "Package 'gtk4', required by 'virtual:world', not found", "the C library gtk4"},
		{"a mistake", "# example.com/m\n./x.go:3:5: undefined: y", "./x.go:3:5: undefined: y"},
	} {
		got := refusal(Want{Path: "example.com/m", Version: "v1.0.0"}, c.said, "LOG", errors.New("exit status 1")).Error()
		if !strings.HasPrefix(got, "example.com/m@v1.0.0: ") || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := refusal(Want{Path: "m"}, "no answer", "", errors.New("exit status 1")).Error(); strings.Contains(got, "output") {
		t.Errorf("got %q, which names a file that there is not", got)
	}
}
