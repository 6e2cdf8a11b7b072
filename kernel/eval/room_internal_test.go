//go:build !workspace

package eval

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// refusing cannot add anything, and says why.
type refusing struct {
	err   error
	asked []string
}

func (m *refusing) Add(_ context.Context, r ModuleRequest, _ func(string)) (Added, error) {
	m.asked = append(m.asked, r.Path)
	return Added{}, m.err
}

// TestRoomRefuses: code in a cell that wants a room is told why it cannot be had, and what to do.
func TestRoomRefuses(t *testing.T) {
	outlet := cellio.NewOutlet(func(cellio.Frame) error { return nil })
	defer outlet.Close()
	modules := &refusing{err: errors.New("no network")}
	p, err := New(Config{Modules: modules, OnImport: []string{"cancha/spark"}, NativeReason: "there is no Go toolchain", Outlet: outlet})
	if err != nil {
		t.Fatal(err)
	}
	look := func(name, path, want string) {
		t.Helper()
		if value, err := p.Room(t.Context(), path, "Engine"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %s", name, value, err, want)
		}
	}
	look("another package", "os/exec", "os/exec is no package that is compiled when it is wanted")
	look("without a toolchain", "cancha/spark", "build cancha/spark in: modules need the engine that compiles cells, and there is no Go toolchain")
	p.native.Engine = native.New(native.Toolchain{}, p.machine)
	look("it cannot be built", "cancha/spark", "build cancha/spark in: no network")
	modules.err = &Conflict{Reason: "the engine has grpc v1.0.0"}
	look("a conflict", "cancha/spark", `the engine has grpc v1.0.0, so it needs another engine: import _ "cancha/spark" in a cell of its own`)
	if got := strings.Join(modules.asked, " "); got != "cancha/spark cancha/spark" {
		t.Errorf("asked for %s", got)
	}
}

// waiting adds nothing until it is given up.
type waiting struct{ began chan struct{} }

func (m waiting) Add(ctx context.Context, _ ModuleRequest, _ func(string)) (Added, error) {
	close(m.began)
	<-ctx.Done()
	return Added{}, ctx.Err()
}

// TestRoomIsInterrupted: the interrupt of a cell ends the building that it waits for.
func TestRoomIsInterrupted(t *testing.T) {
	outlet := cellio.NewOutlet(func(cellio.Frame) error { return nil })
	defer outlet.Close()
	modules := waiting{make(chan struct{})}
	p, err := New(Config{Modules: modules, OnImport: []string{"cancha/spark"}, Outlet: outlet})
	if err != nil {
		t.Fatal(err)
	}
	p.native.Engine = native.New(native.Toolchain{}, p.machine)
	run := p.newRun(&task{request: cell.Request{Cell: 1}})
	over := make(chan error, 1)
	go run.Do(func() {
		_, err := p.Room(context.Background(), "cancha/spark", "Engine")
		over <- err
	})
	<-modules.began
	run.Interrupt()
	if err := <-over; !errors.Is(err, cellio.ErrInterrupted) {
		t.Errorf("got %v, want %v", err, cellio.ErrInterrupted)
	}
}
