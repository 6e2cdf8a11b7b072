package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// faultKinds are what can happen to a process, or to what it works with:
//
//	kill    kill -9
//	freeze  it stands still for longer than its group waits for it, then kill -9; only in a group
//	broker  kill -9 of the broker, which is started again on what it has written; on an Apache Kafka that takes scripts/kafka.sh with.
//	        The embedded broker writes no end of a transaction in which it was killed, so that it is not killed where the sink is kafka
//	slow    a disk that takes its time for each snapshot and each epoch of rows
//	full    a disk that is full in the middle: of a file system (root on Linux), or as a limit of each file
//	drop    connections to the broker that break after some bytes
//	clock   a wall clock that jumps by hours, forwards and backwards (Linux on amd64); backwards alone where a topic of an Apache Kafka is
//	        written, which refuses records from more than an hour ahead of its own clock (message.timestamp.after.max.ms)
//	back    kill -9, and going on from an older copy of the snapshots, or from one of another way that the query has gone: it is refused, or gives the same
//
// Records that cannot be read are in the topics all along. The query anew has faults of its own: its topic is deleted and made anew.
const faultKinds = "kill freeze broker slow full drop clock back"

// fault is one of them.
type fault struct {
	kind string
	life time.Duration // of the process before it
	size float64       // from 0 to 1: how much, where there is a how much
	seed uint64
	last bool // nothing comes after it: a process that can live with it lives to its end
}

// plan draws the faults of a trial, one after another. Several goroutines may.
type plan struct {
	mu                sync.Mutex
	dice              *rand.Rand
	kinds             []string
	left              int
	shortest, longest time.Duration // lives
}

// next draws the next fault; false: there is none any more.
func (p *plan) next() (fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return fault{}, false
	}
	p.left--
	life := p.shortest + time.Duration(p.dice.Int64N(int64(p.longest-p.shortest)))
	return fault{p.kinds[p.dice.IntN(len(p.kinds))], life, p.dice.Float64(), p.dice.Uint64(), p.left == 0}, true
}

// end ends the plan: nothing more happens.
func (p *plan) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = 0
}

// kindsFor are the kinds of a list that can happen in a trial.
func (f *field) kindsFor(list string, members int) ([]string, error) {
	kinds := strings.Fields(list)
	for _, kind := range kinds {
		if !slices.Contains(strings.Fields(faultKinds), kind) {
			return nil, fmt.Errorf("there is no fault %q: there are %s", kind, faultKinds)
		}
	}
	kinds = slices.DeleteFunc(kinds, func(kind string) bool {
		return kind == "freeze" && members == 1 || kind == "broker" && f.server == nil || kind == "clock" && !clocks || kind == "back" && members > 1
	})
	if len(kinds) == 0 {
		return nil, fmt.Errorf("none of the faults %q can happen here", list)
	}
	return kinds, nil
}

// try is a trial of a role, with what its faults take.
func (f *field) try(ctx context.Context, r role, members int, p *plan) (o *outcome, err error) {
	if p.kinds, err = f.kindsFor(*faults, members); err != nil {
		return nil, err
	}
	t := &trial{role: r, plan: p, program: f.program, members: members, server: f.server, apache: f.own == nil}
	if slices.Contains(p.kinds, "drop") {
		if t.line, err = newLine(f.brokers[0], rand.New(rand.NewPCG(*seed, 5))); err != nil {
			return nil, err
		}
		defer t.line.close()
	}
	if err := os.MkdirAll(r.Folder, 0o777); err != nil {
		return nil, err
	}
	if slices.Contains(p.kinds, "full") && members == 1 { // a group has one disk, and faults are for one at a time
		if d, err := newDisk(r.Folder); err == nil {
			t.disk = d
			defer d.close()
		}
	}
	return t.run(ctx, rows)
}

// under is the role of a process to which a fault happens from inside.
func (t *trial) under(f fault) role {
	r := t.role
	switch f.kind {
	case "slow":
		r.Slow = 10*time.Millisecond + time.Duration(f.size*float64(2*r.Epoch))
	case "full":
		if t.disk == nil {
			r.Limit = uint64(1024 + f.size*f.size*float64(2<<20))
		}
	case "drop":
		r.Brokers = []string{t.line.addr()}
	case "clock":
		r.Clock, r.Back = f.seed|1, t.Sink == "kafka" && t.apache
	}
	return r
}

// strike does to a process what a fault does from outside, when it has lived its life.
func (t *trial) strike(p *process, f fault) error {
	switch f.kind {
	case "freeze":
		return t.freeze(p)
	case "broker":
		return t.restart(p, f)
	case "full":
		if t.disk != nil {
			return t.fill(p, int64(f.size*f.size*(256<<10)))
		}
	case "back":
		return t.goBack(p, f)
	case "slow", "drop", "clock":
		p.lives(2 * f.life) // it is slower
	}
	return nil
}

// freeze lets a process stand still for longer than its group waits for it, and a while after.
func (t *trial) freeze(p *process) error {
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(sessionOver)
	if err := p.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	p.lives(time.Second)
	return nil
}

// restart kills the broker, starts it again at once or after a while, and gives the query as long again.
func (t *trial) restart(p *process, f fault) error {
	t.restarting.Lock()
	defer t.restarting.Unlock()
	t.outages.Add(1)
	defer t.outages.Add(1)
	if err := t.server.kill(); err != nil {
		return err
	}
	p.lives(time.Duration(f.size * f.size * float64(2*time.Second)))
	if err := t.server.start(); err != nil {
		return err
	}
	p.lives(time.Second + f.life)
	return nil
}

// survives tells whether a query goes on to its end under a fault.
func (f fault) survives() bool {
	return slices.Contains([]string{"broker", "slow", "drop", "clock"}, f.kind)
}

// within makes this process what its role says of faults from inside, until the function that it returns is called.
func (r role) within(ctx context.Context) (end func(), err error) {
	end = func() {}
	if r.Limit > 0 {
		if err := limitFiles(r.Limit); err != nil {
			return nil, err
		}
	}
	if r.Clock == 0 {
		return end, nil
	}
	c, err := newClock()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	var wandering sync.WaitGroup
	wandering.Go(func() { wander(ctx, c, r.Clock, r.Back) })
	return func() { stop(); wandering.Wait() }, nil
}
