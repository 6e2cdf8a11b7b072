package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// oracle tells what compiled programs do. It builds each with the Go on the PATH, runs it twice, and keeps what it saw: a
// program that is asked for again, today or tomorrow, is not built again.
type oracle struct {
	dir  string // of the answers kept, one file each
	tree string // where programs run, which some read files of
	new  bool   // do not look at answers kept
}

// oracleLimit bounds a program's run; the slowest takes six seconds alone on one core.
const oracleLimit = 60 * time.Second

// behaviour is what a program did.
type behaviour struct {
	Stdout string        `json:"stdout"`
	Stderr string        `json:"stderr"` // without what the runtime reports at the end
	Exit   int           `json:"exit"`   // exit status, -1 for a signal
	Panic  string        `json:"panic"`  // what stands behind "panic: " or "fatal error: "
	Took   time.Duration `json:"took"`
	// Unsteady tells that the second run did something else.
	Unsteady bool `json:"unsteady,omitempty"`
	// Fault is why there is no behaviour: it does not build, or does not end.
	Fault string `json:"fault,omitempty"`
}

// buildSettings keep a user's own from changing what a program means. Outside of modules it would get the GODEBUG of old
// programs.
var buildSettings = []string{"GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GOEXPERIMENT=", "GODEBUG=", "GOENV=off"}

// ask returns what a program does that stands in a file of that name.
func (o oracle) ask(ctx context.Context, name, source string) (behaviour, error) {
	name = path.Base(name)
	sum := sha256.Sum256([]byte(runtime.Version() + "\x00" + strings.Join(buildSettings, " ") + "\x00" + name + "\x00" + o.tree + "\x00" + source))
	file := filepath.Join(o.dir, hex.EncodeToString(sum[:16])+".json")
	var b behaviour
	if raw, err := os.ReadFile(file); !o.new && err == nil && json.Unmarshal(raw, &b) == nil {
		return b, nil
	}
	b, err := o.run(ctx, name, source)
	if err != nil {
		return b, err
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return b, err
	}
	return b, keep(file, raw)
}

// keep writes a file so that nobody sees half of it.
func keep(file string, raw []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".new-")
	if err != nil {
		return err
	}
	_, err = temporary.Write(raw)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}

// run builds a program and tells what it does, and whether a second time too.
func (o oracle) run(ctx context.Context, name, source string) (behaviour, error) {
	first, second, err := o.twice(ctx, name, source)
	first.Unsteady = first.Fault == "" && difference(first, second) != ""
	return first, err
}

// twice builds a program and runs it two times, once where that does not end well.
func (o oracle) twice(ctx context.Context, name, source string) (first, second behaviour, err error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return first, second, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
		return first, second, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-p=1", "-ldflags=-s -w", "-o", "program", name)
	build.Dir = dir
	build.Env = append(os.Environ(), buildSettings...)
	if out, err := build.CombinedOutput(); err != nil {
		first.Fault = "it does not build: " + strings.TrimSpace(string(out))
		return first, second, ctx.Err()
	}
	first, err = o.once(ctx, filepath.Join(dir, "program"))
	if err != nil || first.Fault != "" {
		return first, second, err
	}
	second, err = o.once(ctx, filepath.Join(dir, "program"))
	return first, second, err
}

// once runs a program that was built.
func (o oracle) once(ctx context.Context, program string) (behaviour, error) {
	limited, cancel := context.WithTimeout(ctx, oracleLimit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(limited, program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.tree, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if limited.Err() != nil {
		return behaviour{Fault: fmt.Sprintf("it does not end in %v", oracleLimit)}, ctx.Err()
	}
	b := behaviour{Stdout: stdout.String(), Exit: cmd.ProcessState.ExitCode(), Took: took}
	b.Stderr, b.Panic = cutReport(stderr.String())
	if err != nil && b.Exit == 0 {
		return behaviour{Fault: err.Error()}, nil
	}
	return b, nil
}

// report matches how the runtime begins to tell why it ends a program, inLine the same where the program has left a line open, and caught
// what it says of a signal.
var (
	report = regexp.MustCompile(`(?m)^(panic: |fatal error: )`)
	caught = regexp.MustCompile(`(?m)^(SIG[A-Z]+: .*)\n(PC=|\n)`)
	inLine = regexp.MustCompile(`.*(panic: |fatal error: ).*(\n\t.*)*(\n\[.*)?\n\ngoroutine `)
)

// cutReport takes the runtime's last words from a program's error output: what comes before, and the value of the panic.
func cutReport(stderr string) (before, panicked string) {
	at := report.FindStringSubmatchIndex(stderr)
	if s := caught.FindStringSubmatchIndex(stderr); at == nil && s != nil {
		return stderr[:s[2]], stderr[s[2]:s[3]]
	}
	if at == nil {
		at = inLine.FindStringSubmatchIndex(stderr)
	}
	if at == nil {
		return stderr, ""
	}
	text, _, _ := strings.Cut(stderr[at[3]:], "\n\ngoroutine ")
	text, _, _ = strings.Cut(text, "\n[signal ")
	text, _, _ = strings.Cut(text, "\n\truntime.")
	return stderr[:at[2]], strings.TrimSpace(text)
}
