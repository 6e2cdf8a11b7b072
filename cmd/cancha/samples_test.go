//go:build !windows

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goBlock is a sample of Go in a text of Markdown.
var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestSamples: every sample of Go that users read can be pasted into the first cell of a fresh notebook, and shows something there. The
// kernel runs in an environment without a GPU.
func TestSamples(t *testing.T) {
	texts, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, text := range append(texts, "../../README.md") {
		raw, err := os.ReadFile(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goBlock.FindAllSubmatchIndex(raw, -1) {
			found++
			sample, line := string(raw[m[2]:m[3]]), 1+bytes.Count(raw[:m[2]], []byte("\n"))
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(text), line), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				write(t, filepath.Join(dir, "sample.ipynb"), sample)
				code, _, stderr := outcome(t, dir, "run", "-timeout", "60s", "-o", "run.ipynb", "sample.ipynb")
				written, err := os.ReadFile(filepath.Join(dir, "run.ipynb"))
				if code != 0 || err != nil {
					t.Fatalf("exit code %d, %v\n%s\n%s", code, err, sample, stderr)
				}
				if !strings.Contains(string(written), `"text/plain"`) {
					t.Errorf("it shows nothing:\n%s", written)
				}
			})
		}
	}
	if found < 3 {
		t.Errorf("%d samples found: the pattern has missed some", found)
	}
}
