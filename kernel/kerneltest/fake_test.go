package kerneltest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"cancha/kernel"
	"cancha/kernel/client"
	"cancha/kernel/wire"
	"cancha/kernel/zmq"
)

// serveVariable names the connection file of a kernel that this test binary is to be, instead of running tests.
const serveVariable = "KERNELTEST_SERVE"

func TestMain(m *testing.M) {
	path := os.Getenv(serveVariable)
	if path == "" {
		if err := os.Setenv(historyVariable, "off"); err != nil { // the cells of tests are nobody's history
			panic(err)
		}
		os.Exit(m.Run())
	}
	if err := serve(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// historyFolder is what cmd makes of the variable, but for its default.
func historyFolder() string {
	if folder := os.Getenv(historyVariable); folder != "off" {
		return folder
	}
	return ""
}

// serve is a kernel process as cmd makes one, on the engine that behaves.
func serve(path string) error {
	signal.Ignore(os.Interrupt)
	connection, err := wire.ReadConnection(path)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	engine := &Engine{}
	k, err := kernel.New(kernel.Config{Connection: connection, Engine: engine, Version: "0.0", History: historyFolder(), Logger: log})
	if err != nil {
		return err
	}
	engine.Sink = k.Output
	ch, err := zmq.Listen(zmq.Config{Connection: connection, Welcome: k.Welcome, Signed: k.Signed, Logger: log})
	if err != nil {
		return err
	}
	defer ch.Close()
	return k.Run(context.Background(), kernel.Channels{Shell: ch.Shell, Control: ch.Control, Stdin: ch.Stdin, IOPub: ch.IOPub})
}

func fakeTarget() Target {
	return Target{
		Config: client.Config{
			Argv: []string{os.Args[0], "{connection_file}"}, Env: []string{serveVariable + "=yes"},
		},
		Samples: Samples{
			Hello: "print hello", Value: "value 6", ValueText: "6", Fail: "fail x", SlowFail: "sleep 300ms\nfail x",
			Pause: "sleep 500ms", Endless: "print on\nloop", Keep: "keep kept", Kept: "kept", Lines: "lines 100000",
			Partial: "part partial\nsleep 1s", Mixed: "print 1\ndisplay x\nprint 2\neprint 3", Late: "late late",
			Show: "show d 0", Rich: "rich <b>x</b>", JSON: `json {"a":[1]}`,
			Slow: strings.Repeat("print tick\nsleep 5ms\n", 200), Waits: map[string]string{"sleep": "print on\nsleep 1h"},
			Update:  "update d 1\nupdate d 2\nupdate d 3",
			Animate: strings.Repeat("clear wait\ndisplay x\n", 100), Large: "large 20971520", Page: "page help",
			Complete: Completion{Code: "𝔊𝔊 ke", Cursor: 5, Match: "kept", Start: 3, End: 5},
			Known:    "print", Unknown: "nothing", Whole: []string{"print x"}, Unfinished: []string{`print \`}, Invalid: []string{"!"},
			Questions: Questions{
				Line: "ask Name?", Password: "password Secret?", Two: "ask a?\nask b?", End: "ask more?",
			},
			Comms:    Comms{Target: "target echo", Open: "open front made"},
			GoodExpr: "value 1", BadExpr: "!", Ignored: "message ignored",
		},
	}
}

// TestFakeEngine runs the suite against a kernel process whose engine is the one that behaves.
func TestFakeEngine(t *testing.T) { Run(t, fakeTarget()) }

// TestFakeEngineLibzmq is the same over libzmq's sockets.
func TestFakeEngineLibzmq(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if os.Getenv(pythonVariable) == "" {
		t.Skip(pythonVariable + " names no Python")
	}
	t.Setenv(tableVariable, "") // the table is of real kernels
	target := fakeTarget()
	target.Sockets = sockets(t)
	Run(t, target)
}

// TestFakeEngineEncrypted runs the suite against the same kernel where the client encrypts all channels.
func TestFakeEngineEncrypted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Setenv(tableVariable, "") // the table is of real kernels
	target := fakeTarget()
	target.Config.Encrypted = true
	Run(t, target)
}

// TestFakeEngineEncryptedLibzmq is the same over libzmq's sockets, whose CURVE is another's.
func TestFakeEngineEncryptedLibzmq(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if os.Getenv(pythonVariable) == "" {
		t.Skip(pythonVariable + " names no Python")
	}
	t.Setenv(tableVariable, "")
	target := fakeTarget()
	target.Config.Encrypted = true
	target.Sockets = sockets(t)
	Run(t, target)
}

func TestStartFailures(t *testing.T) {
	if _, err := client.Start(client.Config{}); err == nil {
		t.Error("no command: want an error")
	}
	if _, err := client.Start(client.Config{Argv: []string{"/nonexistent/kernel"}}); err == nil {
		t.Error("a command that is not there: want an error")
	}
	k, err := client.Start(client.Config{Argv: []string{"false"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := k.Connect(ctx, client.Options{}); err == nil || !strings.Contains(err.Error(), "exit") {
		t.Errorf("a kernel that ends at once: got %v, want its end named", err)
	}
}

// TestKernelDies checks that what waits for a kernel is told when the kernel is gone.
func TestKernelDies(t *testing.T) {
	target := fakeTarget()
	k, err := client.Start(quiet(t, target.Config))
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, target, k)
	ended := make(chan error, 1)
	go func() {
		_, err := s.client.Execute(t.Context(), "loop", nil)
		ended <- err
	}()
	s.seen.take()
	k.Kill()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a cell of a dead kernel ended without an error")
		}
	case <-time.After(patience):
		t.Error("a cell of a dead kernel does not end")
	}
}

// TestShutdown checks that the client's Shutdown leaves no process.
func TestShutdown(t *testing.T) {
	target := fakeTarget()
	k, err := client.Start(quiet(t, target.Config))
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, target, k)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := k.Shutdown(ctx, s.client); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if _, err := os.Stat(k.Connection().IP); k.Connection().Transport == "ipc" && err == nil {
		t.Error("sockets are left")
	}
}
