package server_test

import (
	"os/exec"
	"testing"
)

// TestScript: the page's script does what testdata/page.mjs wants, where Node.js is installed.
func TestScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	if said, err := exec.CommandContext(t.Context(), node, "testdata/page.mjs", "page.js").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
