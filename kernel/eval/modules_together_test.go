//go:build !workspace

package eval

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/native"
)

// slowModules cannot be had, which is told when goOn is closed.
type slowModules struct {
	began, goOn chan struct{}
}

func (m *slowModules) Add(context.Context, ModuleRequest, func(string)) (Added, error) {
	m.began <- struct{}{}
	<-m.goOn
	return Added{}, errors.New("none")
}

// TestImportsOneAtATime: of two cells that import, the second begins where the first has ended.
func TestImportsOneAtATime(t *testing.T) {
	modules := &slowModules{began: make(chan struct{}, 2), goOn: make(chan struct{})}
	p, err := New(Config{Modules: modules, Outlet: cellio.NewOutlet(func(cellio.Frame) error { return nil })})
	if err != nil {
		t.Fatal(err)
	}
	p.native.Engine = native.New(native.Toolchain{}, p.machine)
	var cells sync.WaitGroup
	for i := range int64(2) {
		cells.Go(func() {
			p.Run(cell.Request{Cell: i + 1, Count: int(i) + 1, Subshell: i > 0, Code: "import \"example.com/a\"\na.F()"})
		})
	}
	<-modules.began
	select {
	case <-modules.began:
		t.Error("the second began beside the first")
	case <-time.After(100 * time.Millisecond): // it would have
	}
	close(modules.goOn)
	cells.Wait()
	if n := len(modules.began); n != 1 {
		t.Errorf("%d more have come, want the second", n)
	}
}
