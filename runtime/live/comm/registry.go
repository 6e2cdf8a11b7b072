package comm

import (
	"encoding/json"
	"sync"

	"cancha/internal/cellio"
)

// RegisterTarget lets front ends open comms of a target: opened is called with each of them and the message that opened it, and is
// the place to set its handlers. It takes the place of what was registered before; nil makes the target unknown again, and comms of
// unknown targets are closed. If opened panics, its comm is closed.
func RegisterTarget(target string, opened func(c *Comm, open Message)) {
	r := comms()
	r.mu.Lock()
	defer r.mu.Unlock()
	if opened == nil {
		delete(r.targets, target)
	} else {
		r.targets[target] = opened
	}
}

// registry knows the targets and the open comms of the process.
type registry struct {
	mu      sync.Mutex
	targets map[string]func(*Comm, Message)
	open    map[string]*Comm
}

// comms returns the process's registry.
func comms() *registry {
	return cellio.Resident(func() *registry {
		r := &registry{targets: map[string]func(*Comm, Message){}, open: map[string]*Comm{}}
		cellio.OnComm(r.take)
		return r
	})
}

func (r *registry) add(c *Comm) {
	r.mu.Lock()
	r.open[c.id] = c
	r.mu.Unlock()
	c.mu.Lock()
	c.open = true
	c.mu.Unlock()
}

// remove takes a comm out. It reports false for one that is not open.
func (r *registry) remove(id string) bool {
	r.mu.Lock()
	c := r.open[id]
	delete(r.open, id)
	r.mu.Unlock()
	if c == nil {
		return false
	}
	c.mu.Lock()
	c.open = false
	c.mu.Unlock()
	return true
}

// take handles a frame of a comm from the front end. A message of a comm that is not open has crossed its close.
func (r *registry) take(f cellio.Frame) {
	var body cellio.Comm
	if json.Unmarshal(f.Body, &body) != nil {
		return // the kernel has encoded it: this cannot be
	}
	m := Message{Data: body.Data, Metadata: body.Metadata, Buffers: f.Buffers}
	r.mu.Lock()
	opened, c := r.targets[body.Target], r.open[body.ID]
	r.mu.Unlock()
	if f.Kind == cellio.KindCommOpen {
		r.accept(&Comm{id: body.ID, target: body.Target}, opened, m)
		return
	}
	if c == nil {
		return
	}
	if f.Kind == cellio.KindCommClose {
		r.remove(c.id)
	}
	handle, onClose := c.handlers()
	if f.Kind == cellio.KindCommClose {
		handle = onClose
	}
	if handle != nil {
		handle(m)
	}
}

// accept hands a new comm to its target, or closes it.
func (r *registry) accept(c *Comm, opened func(*Comm, Message), m Message) {
	r.add(c)
	accepted := false
	defer func() {
		if !accepted {
			_ = c.Close() // the front end that cannot be told is gone
		}
	}()
	if opened != nil {
		opened(c, m)
		accepted = true
	}
}
