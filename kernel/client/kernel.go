package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cancha/kernel/wire"
)

// ErrExited reports that the kernel process has ended.
var ErrExited = errors.New("the kernel has exited")

// Config says how to start a kernel. Argv is needed.
type Config struct {
	Argv      []string  // {connection_file} in it becomes the file's path
	Dir       string    // working folder; empty: the caller's
	Env       []string  // added to the caller's environment
	Stdout    io.Writer // of the kernel process; nil: dropped
	Stderr    io.Writer // of the kernel process; nil: dropped
	Transport string    // "tcp" (also when empty) or "ipc", which needs no port and nobody else can reach
	Unsigned  bool      // leave the key empty
	Encrypted bool      // have all channels encrypted with CurveZMQ, which the kernel has to know
	Scheme    string    // signature scheme; empty means hmac-sha256
	Interrupt string    // "signal": Client.Interrupt sends SIGINT; else it sends a message
}

// FromSpec returns the Config that starts an installed kernel, encrypted if its kernelspec says that it can be.
func FromSpec(s Spec) Config {
	c := Config{Interrupt: "signal", Encrypted: s.Metadata.encrypts()}
	if s.InterruptMode != "" {
		c.Interrupt = s.InterruptMode
	}
	for _, a := range s.Argv {
		c.Argv = append(c.Argv, strings.ReplaceAll(a, "{resource_dir}", s.Dir))
	}
	for name, value := range s.Env {
		c.Env = append(c.Env, name+"="+os.ExpandEnv(value))
	}
	return c
}

// Kernel is a kernel process that Start started.
type Kernel struct {
	connection wire.Connection
	interrupt  string
	cmd        *exec.Cmd
	dir        string        // holds the connection file, and the sockets of ipc
	exited     chan struct{} // closed when the process has ended
	err        error         // of the process; read after exited
}

// Start writes a connection file that only the user can read and starts the kernel in a session of its own, with this
// process named as the one to end with (JPY_PARENT_PID), as Jupyter's client does. It does not wait for the kernel to serve:
// Connect does. The caller ends it with Shutdown or Kill.
func Start(c Config) (*Kernel, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("start kernel: no command")
	}
	dir, err := os.MkdirTemp(Temporary(), "kernel-") // 0700
	if err != nil {
		return nil, fmt.Errorf("start kernel: %w", err)
	}
	k := &Kernel{interrupt: c.Interrupt, dir: dir, exited: make(chan struct{})}
	if err := k.start(c); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("start kernel: %w", err)
	}
	return k, nil
}

// Temporary is the folder for temporary files, unless it makes paths too long for a socket, which may have a hundred bytes.
func Temporary() string {
	if dir := os.TempDir(); len(dir) <= 60 {
		return dir
	}
	return "/tmp"
}

func (k *Kernel) start(c Config) error {
	var err error
	if k.connection, err = newConnection(c, k.dir); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(k.connection, "", " ")
	if err != nil {
		return err
	}
	file := filepath.Join(k.dir, "connection.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return err
	}
	argv := make([]string, len(c.Argv))
	for i, a := range c.Argv {
		argv[i] = strings.ReplaceAll(a, "{connection_file}", file)
	}
	k.cmd = exec.Command(argv[0], argv[1:]...)
	k.cmd.Dir, k.cmd.Stdout, k.cmd.Stderr = c.Dir, c.Stdout, c.Stderr
	k.cmd.Env = append(append(os.Environ(), "JPY_PARENT_PID="+strconv.Itoa(os.Getpid())), c.Env...)
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal's ^C is for the client, which decides what it means
	k.cmd.WaitDelay = time.Second                          // a grandchild may keep the pipes open
	if err := k.cmd.Start(); err != nil {
		return err
	}
	go func() {
		k.err = k.cmd.Wait()
		_ = os.RemoveAll(k.dir)
		close(k.exited)
	}()
	return nil
}

func newConnection(c Config, dir string) (wire.Connection, error) {
	conn := wire.Connection{Transport: c.Transport, IP: "127.0.0.1", Scheme: c.Scheme, KernelName: "cancha"}
	if conn.Transport == "" {
		conn.Transport = "tcp"
	}
	if conn.Scheme == "" {
		conn.Scheme = "hmac-sha256"
	}
	if !c.Unsigned {
		var key [32]byte
		_, _ = rand.Read(key[:]) // never fails, by its contract
		conn.Key = hex.EncodeToString(key[:])
	}
	if c.Encrypted {
		conn.CurveKeys = wire.NewCurveKeys()
	}
	ports := []*int{&conn.ShellPort, &conn.IOPubPort, &conn.StdinPort, &conn.ControlPort, &conn.HBPort}
	if conn.Transport == "ipc" {
		conn.IP = filepath.Join(dir, "k")
		for i, p := range ports {
			*p = i + 1
		}
		return conn, nil
	}
	return conn, freePorts(ports)
}

// freePorts finds ports that nobody listens on. Another process can take one before the kernel does, as with every client
// that writes connection files; ipc has no such gap.
func freePorts(ports []*int) error {
	for _, p := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		defer ln.Close() // after all are found, so that they differ
		*p = ln.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// Connection returns what is in the connection file.
func (k *Kernel) Connection() wire.Connection { return k.connection }

// PID returns the process's id.
func (k *Kernel) PID() int { return k.cmd.Process.Pid }

// Exited is closed when the process has ended; Err tells how.
func (k *Kernel) Exited() <-chan struct{} { return k.exited }

// Err waits for the process to end and returns nil for exit code 0, else an *exec.ExitError.
func (k *Kernel) Err() error {
	<-k.exited
	return k.err
}

// Signal sends a signal to the process.
func (k *Kernel) Signal(s os.Signal) error { return k.cmd.Process.Signal(s) }

// Kill ends the process at once and waits for it.
func (k *Kernel) Kill() {
	_ = k.cmd.Process.Kill() // it may have ended already
	<-k.exited
}

// Connect waits until the kernel serves and returns a conversation with it. It fails with ErrExited when the process ends
// first, and with ctx's error.
func (k *Kernel) Connect(ctx context.Context, o Options) (*Client, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-k.exited:
			cancel(fmt.Errorf("%w: %v", ErrExited, k.err))
		case <-stop:
		}
	}()
	if o.Interrupt == nil && k.interrupt == "signal" {
		o.Interrupt = func() error { return k.Signal(os.Interrupt) }
	}
	return Connect(ctx, k.connection, o)
}

// Shutdown asks the kernel to leave over c, closes c and waits for the process's end; a kernel that has not left when ctx
// ends is killed. It returns the process's error.
func (k *Kernel) Shutdown(ctx context.Context, c *Client) error {
	_, err := c.Request(ctx, Control, "shutdown_request", map[string]bool{"restart": false}, nil)
	_ = c.Close()
	if err != nil && !errors.Is(err, ErrExited) && ctx.Err() == nil {
		k.Kill()
		return fmt.Errorf("shut down kernel: %w", err)
	}
	select {
	case <-k.exited:
	case <-ctx.Done():
		k.Kill()
	}
	return k.err
}
