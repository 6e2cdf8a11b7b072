package eval

import (
	"testing"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// TestEndOfRun calls what a cell holds back before the cell is done, however it ends.
func TestEndOfRun(t *testing.T) {
	tests := []struct {
		name string
		body func(p *Program)
		want string // name of the error
	}{
		{"success", func(*Program) {}, ""},
		{"panic", func(*Program) { panic("no") }, "panic"},
		{"interrupt", func(p *Program) { p.Interrupt(); p.machine.Check() }, "interrupted"},
		{"left behind", func(p *Program) { p.Interrupt(); select {} }, "interrupted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			ended := false
			task := p.start(cell.Request{Cell: 1, Count: 1})
			defer p.done(task)
			fault := p.execute(text{task: task, name: "cell 1"}, func() {
				cellio.AtEnd(func() { ended = true })
				tt.body(p)
			})
			got := ""
			if fault != nil {
				got = fault.Name
			}
			if got != tt.want || !ended {
				t.Errorf("got error %q and ended %v, want %q and true", got, ended, tt.want)
			}
		})
	}
}

// TestEndOfRunPanics survives what is called at the end.
func TestEndOfRunPanics(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if fault := p.execute(text{task: p.start(cell.Request{Cell: 1, Count: 1}), name: "cell 1"}, func() { cellio.AtEnd(func() { panic("no") }) }); fault != nil {
		t.Errorf("got %v, want no error", fault)
	}
}
