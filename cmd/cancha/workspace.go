//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"cancha/cmd/internal/own"
	"cancha/kernel/workspace"
)

// engineVariable forces the plain engine where it is engineInterp: no workspace is looked for or built.
const (
	engineVariable = "CANCHA_ENGINE"
	engineInterp   = "interp"
)

// newStore returns the store of the workspaces that this program's engine can be built in. Where an engine cannot be built with GPUs it is
// without; doctor says why.
func newStore() *workspace.Store {
	c := own.Workspace()
	c.Tags, c.Flags, _ = withGPU()
	return workspace.New(c)
}

// engineChoice decides, once in a session, what its engines are: the workspace's, or this program's own, which interprets.
type engineChoice struct {
	program string
	log     *slog.Logger
	ensure  func(ctx context.Context, say func(string)) (*workspace.Workspace, error)
	use     func(dir string) (*workspace.Workspace, error)

	mu        sync.Mutex           // guards what follows, which prepare, failed and replace set
	workspace *workspace.Workspace // in use until close, or until another takes its place
	plain     bool                 // engines are the program's own
	reason    string               // why they are
}

func newEngineChoice(program string, log *slog.Logger) *engineChoice {
	use := func(dir string) (*workspace.Workspace, error) { return newStore().Use(dir) }
	return &engineChoice{program: program, log: log, use: use, ensure: func(ctx context.Context, say func(string)) (*workspace.Workspace, error) {
		modules, err := wantedModules()
		if err != nil {
			return nil, err
		}
		return newStore().Ensure(ctx, modules, say)
	}}
}

// prepare finds the workspace, or builds it.
func (c *engineChoice) prepare(ctx context.Context, say func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if os.Getenv(engineVariable) == engineInterp {
		c.plain, c.reason = true, engineVariable+" is "+engineInterp
		return
	}
	begin, built := time.Now(), false
	w, err := c.ensure(ctx, func(line string) { built = true; say(line) })
	if err != nil {
		c.plain, c.reason = true, err.Error()
		c.log.Warn("cells are interpreted", "reason", err)
		if built { // a user has waited for it
			say("cells are interpreted: " + c.reason)
		}
		return
	}
	c.workspace = w
	if built {
		say(fmt.Sprintf("the engine for %s is ready after %.0f s", w.GoVersion, time.Since(begin).Seconds()))
	}
}

// command returns the command of a fresh engine. It is called after prepare.
func (c *engineChoice) command() *exec.Cmd {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plain {
		return exec.Command(c.program, "engine", "-reason", c.reason)
	}
	return exec.Command(c.workspace.Engine(), "engine", "-workspace", c.workspace.Dir)
}

// failed takes the program's own engine where the workspace's does not come to serve: its folder has gone, or it was built for a
// system that is not this one. No program lives in an engine that has not served, so none is lost.
func (c *engineChoice) failed(why string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plain {
		return false
	}
	c.plain, c.reason = true, fmt.Sprintf("the engine in %s does not start (%s): run \"cancha install\"", c.workspace.Dir, why)
	c.log.Warn("cells are interpreted", "reason", c.reason)
	return true
}

// replace takes another workspace's engine from now on. The one before is let go of, though its engine still ends: what runs is in memory.
func (c *engineChoice) replace(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, err := c.use(dir)
	if err != nil {
		return err
	}
	if c.workspace != nil {
		c.workspace.Close()
	}
	c.workspace, c.plain = w, false
	return nil
}

// close lets go of the workspace, when no engine runs any more.
func (c *engineChoice) close() {
	if c.workspace != nil {
		c.workspace.Close()
	}
}

// buildWorkspace builds the workspace for a user who waits for it, and says so.
func buildWorkspace(ctx context.Context, out io.Writer) error {
	begin := time.Now()
	l := ticker{out: out}
	store := newStore()
	store.Mend(ctx)
	w, err := store.Ensure(ctx, nil, l.say)
	l.end()
	if err != nil {
		return err
	}
	defer w.Close()
	if l.shown != "" {
		fmt.Fprintf(out, "the engine for %s is ready after %.0f s\n", w.GoVersion, time.Since(begin).Seconds())
	}
	return nil
}

// every is how often progress is a new line where lines cannot be written over one another.
const every = 10 * time.Second

// ticker shows progress: in place on a terminal, as a line now and then elsewhere. One goroutine at a time may use it.
type ticker struct {
	out   io.Writer
	shown string
	last  time.Time
}

func (l *ticker) say(text string) {
	switch {
	case terminal(l.out):
		fmt.Fprintf(l.out, "\r%s%s", text, strings.Repeat(" ", max(0, len(l.shown)-len(text))))
	case time.Since(l.last) >= every:
		l.last = time.Now()
		fmt.Fprintln(l.out, text)
	}
	l.shown = text
}

func (l *ticker) end() {
	if l.shown != "" && terminal(l.out) {
		fmt.Fprintln(l.out)
	}
}

func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// canLoad tells why this very program cannot load compiled cells, nil if it can: how it was built decides that.
func canLoad() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this engine does not know how it was built")
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return loads(settings)
}

func loads(settings map[string]string) error {
	switch {
	case settings["-race"] == "true":
		return errors.New("this engine was built with -race, and loads no cells that were compiled without")
	case settings["CGO_ENABLED"] == "0":
		return errors.New("this engine was built without cgo, and loads no compiled cells")
	case !strings.Contains(","+settings["-tags"]+",", ",workspace,"):
		return errors.New("this engine was not built in a workspace, and loads no compiled cells")
	}
	return nil
}
