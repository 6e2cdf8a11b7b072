//go:build !windows

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"cancha/cmd/internal/own"
)

// asCommand makes the test binary the command itself: run starts kernels and kernels start engines from the running program.
const asCommand = "CANCHA_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	for name, value := range map[string]string{engineVariable: "interp", historyVariable: historyOff} { // building engines is for the tests of that
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// cancha returns the command line "cancha args", to be run in dir.
func cancha(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir, c.Env = dir, append(os.Environ(), asCommand+"=yes")
	return c
}

// outcome runs "cancha args" in dir to its end.
func outcome(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	c := cancha(t, dir, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestUsage: help is asked for and succeeds; a line that cannot be followed is told in two lines, with exit code 2.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"", "", "usage: cancha COMMAND", 2},
		{"help", "usage: cancha COMMAND", "", 0},
		{"--version", "cancha " + own.Version, "", 0},
		{"steal", "", `no command "steal"`, 2},
		{"run -h", "usage: cancha run [flags] NOTEBOOK…", "", 0},
		{"run", "", "name a notebook", 2},
		{"run --timeout 5 x.ipynb", "", "a duration such as 90s", 2},
		{"run -p data x.ipynb", "", `"data" is not name=value`, 2},
		{"query -h", "usage: cancha query [flags] FILE.go|NOTEBOOK", "", 0},
		{"query", "", "name one notebook, or one file of Go", 2},
		{"query a.go -progress=-1s", "", "want a duration such as 10s, or 0", 2},
		{"version now", "", `unexpected argument "now"`, 2},
		{"doctor --all", "", "not defined: -all", 2},
		{"install -prefix=", "", "names no folder", 2},
		{"install somewhere", "", `unexpected argument "somewhere"`, 2},
		{"install -user -sys-prefix", "", "name different places", 1},
		{"uninstall -h", "usage: cancha uninstall [flags]", "", 0},
		{"data", "", "fetch, simulate or list", 2},
		{"data -h", "usage: cancha data fetch", "", 0},
		{"data fetch -h", "usage: cancha data fetch [flags] -competition ID", "", 0},
		{"broker -addr", "", "needs an argument", 2},
		{"producer -rate fast", "", "positive number of events", 2},
		{"kernel", "", "the connection file", 2},
		{"kernel /no/such/file", "", "no such file", 1},
		{"engine", "", `started by "cancha kernel"`, 1},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, stdout, stderr := outcome(t, t.TempDir(), strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nwant in it: %s\nstderr: %s\nwant in it: %s", code, c.code, stdout, c.stdout, stderr, c.stderr)
			}
			if c.code != 0 && c.args != "" && strings.Count(stderr, "\n") > 2 {
				t.Errorf("more than two lines:\n%s", stderr)
			}
		})
	}
}
