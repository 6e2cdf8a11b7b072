//go:build !windows

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cancha/internal/master"
	"cancha/jupyter/kernelspec"
	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
	"cancha/kernel/workspace"
	"cancha/runtime/gpu"
	"cancha/runtime/session"
)

// verdict is how a finding is to be taken.
type verdict string

const (
	good    verdict = "ok"
	warning verdict = "warn" // something will not work, and notebooks may not need it
	failure verdict = "FAIL" // no notebook will run
)

// finding is one line of doctor: what was looked at, what was found and, unless all is well, what to do.
type finding struct {
	verdict verdict
	subject string
	found   string
	advice  string
}

// probeLimit bounds each question to another program or machine.
const probeLimit = 5 * time.Second

func runDoctor(ctx context.Context, args []string) error {
	flags := newFlags("doctor", "", "Looks at what notebooks need, starts a kernel and has it add two numbers, and says what to do where something is amiss.")
	folder := flags.Bool("workspace", false, "only print the folder of the engine that compiles cells")
	gpus := flags.Bool("gpus", false, "only print the GPUs as Spark's discovery scripts do, a line of JSON")
	file := flags.String("conf", "", "only check this `file` of settings, a cancha.conf or Spark's spark-defaults.conf, for contradictions in it or with the machine")
	machine := flags.String("machine", "", "with -conf: the `memory` of the machine that the settings are for, such as 16g; default: this machine's")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	if *folder {
		return printWorkspace(ctx)
	}
	if *gpus {
		fmt.Println(gpu.Discover(ctx).Spark())
		return nil
	}
	if *file != "" {
		return checkSettings(ctx, os.Stdout, *file, *machine)
	}
	failed := false
	for _, check := range []func(context.Context) []finding{
		checkVariables, one(checkKernelspec), one(checkLab), checkSignatures, checkSessions, checkEngine, one(checkGPU), checkDevice, checkMaster, one(checkBroker), one(checkDisk), one(checkKernel),
	} {
		for _, f := range check(ctx) {
			fmt.Printf("%-5s %-12s %s\n", f.verdict, f.subject, f.found)
			if f.verdict != good {
				fmt.Printf("%18s → %s\n", "", f.advice)
			}
			failed = failed || f.verdict == failure
		}
	}
	if failed {
		return errors.New("a problem above keeps every notebook from running")
	}
	return nil
}

// printWorkspace prints where the engine is that compiles cells, for scripts.
func printWorkspace(ctx context.Context) error {
	s := newStore().State(ctx)
	if s.Err != nil {
		return fmt.Errorf("find the engine that compiles cells: %w", s.Err)
	}
	fmt.Println(s.Dir)
	return nil
}

// one makes a check that finds one thing like those that find several.
func one(check func(context.Context) finding) func(context.Context) []finding {
	return func(ctx context.Context) []finding { return []finding{check(ctx)} }
}

// ask runs a program and returns the first line that it prints.
func ask(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = context.Cause(ctx) // not that it was killed
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), err
}

func checkKernelspec(ctx context.Context) finding {
	f := finding{verdict: warning, subject: "kernelspec", advice: `"cancha install" puts the kernel where Jupyter looks`}
	found := kernelspec.Find(withOwnPython)
	if len(found) == 0 {
		f.found = "not installed"
		return f
	}
	first := found[0]
	f.found = fmt.Sprintf("%q (%s) in %s", first.Spec.DisplayName, first.Name, first.Folder)
	program, err := first.Program()
	if err != nil {
		f.found += ", broken: " + err.Error()
		return f
	}
	have, err := ask(ctx, program, "version")
	switch {
	case err != nil:
		f.found += ", whose program does not run: " + err.Error()
		return f
	case have != versionLine():
		f.found += fmt.Sprintf(", which is %q; this is %q", have, versionLine())
		return f
	}
	f.verdict = good
	return f
}

// withOwnPython is the environment as a Jupyter sees it that lies in the Python environment of this program, whether or not that is active.
func withOwnPython(name string) (string, bool) {
	value, set := os.LookupEnv(name)
	if own := workspace.OwnPython(); name == "JUPYTER_PATH" && own != "" {
		return strings.TrimPrefix(value+string(os.PathListSeparator)+filepath.Join(own, "share", "jupyter"), string(os.PathListSeparator)), true
	}
	return value, set
}

// ownOr is a command of the Python environment of this program, or, where that has none, the one on the PATH.
func ownOr(command string) string {
	if own := filepath.Join(workspace.OwnPython(), "bin", command); filepath.IsAbs(own) {
		if _, err := os.Stat(own); err == nil {
			return own
		}
	}
	return command
}

func checkLab(ctx context.Context) finding {
	v, err := ask(ctx, ownOr("jupyter-lab"), "--version")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return finding{warning, "JupyterLab", fmt.Sprintf("jupyter-lab is there, and did not tell its version within %v", probeLimit),
			"ask again when the machine is less busy: \"jupyter-lab --version\""}
	case err != nil && !errors.Is(err, exec.ErrNotFound):
		return finding{warning, "JupyterLab", "jupyter-lab does not run: " + err.Error(), `"jupyter-lab --version" tells more; "cancha run" needs none`}
	case err != nil:
		return finding{warning, "JupyterLab", "no jupyter-lab in PATH",
			`"pip install jupyterlab" in a Python environment, and activate it; "cancha run" needs none`}
	}
	return finding{verdict: good, subject: "JupyterLab", found: v}
}

// checkEngine tells whether sessions compile cells, and what stands in the way where they do not.
func checkEngine(ctx context.Context) []finding { return engineFindings(newStore().State(ctx)) }

func engineFindings(s workspace.State) []finding {
	const none = "cells run without one, but interpreted"
	toolchain := finding{verdict: good, subject: "Go toolchain", found: s.GoVersion + " in " + s.Root}
	compiler := finding{verdict: good, subject: "C compiler", found: s.Compiler}
	engine := finding{verdict: warning, subject: "engine", advice: `"cancha install" builds it; a session does too, in its first cell`}
	var o *workspace.Obstacle
	switch {
	case s.Err == nil:
		engine = finding{verdict: good, subject: "engine", found: fmt.Sprintf("compiles cells: %.0f MB in %s", float64(s.Size)/1e6, s.Dir)}
	case errors.As(s.Err, &o):
		engine.found, engine.advice = "interprets cells: "+o.Fault, o.Advice
	case errors.Is(s.Err, workspace.ErrNone):
		engine.found = "not built for this program and toolchain"
	default:
		engine.found = s.Err.Error()
	}
	if s.GoVersion == "" {
		toolchain = finding{warning, "Go toolchain", "none that will do", none}
	}
	if s.Compiler == "" {
		compiler = finding{warning, "C compiler", "not found", none}
	}
	if s.GoVersion == "" { // it was not looked for
		return []finding{toolchain, engine}
	}
	return []finding{toolchain, compiler, engine}
}

func checkGPU(ctx context.Context) finding {
	devices, _ := filepath.Glob("/dev/nvidia[0-9]*") // the pattern is sound
	_, _, err := withGPU()
	return judgeGPU(len(devices), gpu.Discover(ctx), err)
}

// judgeGPU compares what the system has with what notebooks can use of it. The error is why engines that load compiled cells cannot be built
// with GPUs.
func judgeGPU(devices int, found gpu.Discovery, err error) finding {
	switch {
	case len(found.Devices) > 0 && err != nil:
		return finding{warning, "GPU", fmt.Sprintf("%v, in interpreted cells only: %v", found, err), "then run \"cancha install\" again"}
	case len(found.Devices) > 0:
		return finding{verdict: good, subject: "GPU", found: found.String() + heldBy(found)}
	case devices == 0:
		return finding{verdict: good, subject: "GPU", found: "everything runs on the CPU: " + found.Missing}
	}
	return finding{warning, "GPU", fmt.Sprintf("%d NVIDIA devices, and everything runs on the CPU: %s", devices, found.Missing),
		"make cuda builds a program that uses them; where nvidia-smi does not answer either, the driver's parts may differ in version until a restart"}
}

// heldBy tells who works on GPUs.
func heldBy(found gpu.Discovery) (text string) {
	for i, d := range found.Devices {
		if h, held := d.HeldBy(); held {
			text += fmt.Sprintf("; %d is held by %v", i, h)
		}
	}
	return text
}

// checkMaster tells whether a server can be reached that queries are to run on; nothing of this process.
func checkMaster(ctx context.Context) []finding {
	text, err := session.Master()
	if err != nil {
		return nil // the settings have been told
	}
	m, err := master.Parse(text)
	if err != nil || m.Local() {
		return nil
	}
	d := net.Dialer{Timeout: probeLimit}
	conn, err := d.DialContext(ctx, "tcp", m.Address())
	if err != nil {
		return []finding{{warning, "master", fmt.Sprintf("%s: %v", m, err), "start its Spark Connect server or correct the address; cancha.master local[*] runs queries here"}}
	}
	_ = conn.Close() // nothing was written to it
	return []finding{{verdict: good, subject: "master", found: fmt.Sprintf("%s accepts connections", m)}}
}

func checkBroker(ctx context.Context) finding {
	addresses := strings.FieldsFunc(os.Getenv("KAFKA_BROKERS"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(addresses) == 0 {
		return finding{verdict: good, subject: "broker", found: "embedded; KAFKA_BROKERS is not set"}
	}
	var errs []error
	for _, a := range addresses {
		d := net.Dialer{Timeout: probeLimit}
		conn, err := d.DialContext(ctx, "tcp", a)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_ = conn.Close() // nothing was written to it
	}
	switch {
	case len(errs) == 0:
		return finding{verdict: good, subject: "broker", found: "KAFKA_BROKERS: " + strings.Join(addresses, ", ") + " accept connections"}
	case len(errs) < len(addresses):
		return finding{warning, "broker", fmt.Sprintf("%d of %d in KAFKA_BROKERS: %v", len(errs), len(addresses), errors.Join(errs...)),
			"the stream works while one of them does"}
	default:
		return finding{warning, "broker", fmt.Sprintf("KAFKA_BROKERS: %v", errors.Join(errs...)),
			"start it or correct the address; without KAFKA_BROKERS the embedded broker is used"}
	}
}

// leastDisk is room for a day's records of an embedded broker and a season of open data.
const leastDisk = 2 << 30

func checkDisk(context.Context) finding {
	f := finding{verdict: warning, subject: "disk", advice: "free some room: match data, broker and models are kept there"}
	dir, err := os.UserCacheDir()
	if err != nil {
		f.found, f.advice = err.Error(), "set HOME: match data, broker and models are kept below it"
		return f
	}
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		f.found = fmt.Sprintf("%s: %v", dir, err)
		return f
	}
	free := uint64(s.Bavail) * uint64(s.Bsize)
	f.found = fmt.Sprintf("%.1f GB free at %s", float64(free)/1e9, dir)
	if free >= leastDisk {
		f.verdict = good
	}
	return f
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// checkKernel starts this very program as a kernel and has it add two numbers, through the protocol.
func checkKernel(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, 4*probeLimit)
	defer cancel()
	var log strings.Builder
	took, err := addInKernel(ctx, &log)
	if err != nil {
		return finding{failure, "self-test", err.Error(), cmp.Or(strings.TrimSpace(log.String()), "the kernel wrote nothing to its standard error")}
	}
	return finding{verdict: good, subject: "self-test", found: took}
}

func addInKernel(ctx context.Context, log *strings.Builder) (took string, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	begin := time.Now()
	k, err := client.Start(client.Config{
		Argv: []string{program, "kernel", "{connection_file}"}, Stderr: log, Env: []string{historyVariable + "=" + historyOff},
		Encrypted: true, // others reach these ports
	})
	if err != nil {
		return "", err
	}
	defer k.Kill()
	c, err := k.Connect(ctx, client.Options{})
	if err != nil {
		return "", err
	}
	ready := time.Since(begin)
	begin = time.Now()
	var shown string
	reply, err := c.Execute(ctx, "1+1", func(m wire.Message) { shown += resultText(m) })
	first := time.Since(begin)
	if err := errors.Join(err, k.Shutdown(ctx, c)); err != nil {
		return "", err
	}
	if reply.Err != nil {
		return "", fmt.Errorf("1+1: %w", reply.Err)
	}
	if reply.Status != cell.OK || shown != "2" {
		return "", fmt.Errorf("1+1 ended as %q with %q", reply.Status, shown)
	}
	return fmt.Sprintf("kernel ready in %d ms, 1+1 is 2 after %d ms more", ready.Milliseconds(), first.Milliseconds()), nil
}

// resultText returns the plain text of an execute_result, "" of any other message.
func resultText(m wire.Message) string {
	if m.Header.Type != "execute_result" {
		return ""
	}
	var content struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return err.Error()
	}
	text, _ := content.Data["text/plain"].(string)
	return text
}
