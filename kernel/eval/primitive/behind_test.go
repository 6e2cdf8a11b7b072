package primitive

import (
	"testing"

	"cancha/internal/cellio"
)

// TestLeaveBehind: what an interrupted cell leaves behind is asked when somebody looks, and nobody is asked all the time for its sake.
func TestLeaveBehind(t *testing.T) {
	t.Cleanup(func() { cellio.NewRun(2) }) // the latest run, to which the goroutines of other tests belong, is not interrupted
	m := New(Config{})
	stop := false
	m.OnStop(func(on bool) { stop = on })
	run, begun, goOn, ended := cellio.NewRun(1), make(chan bool), make(chan bool), make(chan any)
	go func() {
		p, _, _ := m.Do(run, func() {
			begun <- true
			<-goOn
			m.Check()
		})
		ended <- p
	}()
	<-begun
	run.Interrupt()
	m.Interrupt(run)
	if !stop {
		t.Error("an interrupt does not make cells ask")
	}
	m.LeaveBehind(run)
	if stop || m.LeftBehind() != 1 {
		t.Errorf("got %v with %d runs left behind, want false with 1", stop, m.LeftBehind())
	}
	m.Look()
	if !stop {
		t.Error("nobody asks while somebody looks")
	}
	m.Looked()
	goOn <- true
	if _, interrupts := (<-ended).(interrupted); !interrupts || m.LeftBehind() != 0 {
		t.Errorf("interrupted: %v, %d runs left behind", interrupts, m.LeftBehind())
	}
}
