package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// trial runs a query undisturbed, and again disturbed, and compares what is in their sinks.
type trial struct {
	role
	*plan
	program    string // that runs roles
	members    int    // processes at once
	server     server // of the broker; nil: it cannot be killed
	restarting sync.Mutex
	outages    atomic.Int64 // moments at which the broker went away or came back
	apache     bool         // it is an Apache Kafka
	line       *line        // to the broker; nil: no connection is dropped
	disk       *disk        // of its folder; nil: it cannot be full
	back
}

// sessionOver is how long a group knows a member that has been killed or frozen, and some more.
const sessionOver = 8 * time.Second

// mostAlone is how long the last process of a trial may take to its end.
const mostAlone = 10 * time.Minute

// outcome is what a trial found.
type outcome struct {
	mu              sync.Mutex     // guards faults
	faults          map[string]int // how many of each kind
	rows            int
	lost, odd, many int // rows that are not there, that should not be there, that are there too often
	took            time.Duration
}

func (o *outcome) ok() bool { return o.lost == 0 && o.odd == 0 && o.many == 0 }

func (o *outcome) String() string {
	text := fmt.Sprintf("%d rows", o.rows)
	for _, kind := range append(strings.Fields(faultKinds), "anew") {
		if n := o.faults[kind]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, kind)
		}
	}
	text += fmt.Sprintf(", %v", o.took.Round(time.Second))
	if o.ok() {
		return "the same: " + text
	}
	return fmt.Sprintf("NOT the same: %d lost, %d wrong, %d too often; %s", o.lost, o.odd, o.many, text)
}

func (o *outcome) count(f fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults[f.kind]++
}

// start starts a process of the trial.
func (t *trial) start(r role) (*process, error) {
	c, err := r.command(t.program)
	if err != nil {
		return nil, err
	}
	return begin(c)
}

// calm runs a role to its end.
func (t *trial) calm(r role) error {
	p, err := t.start(r)
	if err != nil {
		return err
	}
	return p.wait()
}

// disturb runs processes of the role, and has faults happen to one after another, each after a while.
func (t *trial) disturb(o *outcome) error {
	var members errgroup.Group
	for range t.members {
		members.Go(func() error {
			for f, more := t.next(); more; f, more = t.next() {
				ended, err := t.one(f, o)
				if err != nil {
					t.end()
					return fmt.Errorf("%s: %w", f.kind, err)
				}
				if ended {
					t.end()
				}
			}
			return nil
		})
	}
	return members.Wait()
}

// one runs a process, and has a fault happen to it after its life, if it lives so long. ended tells that the query has come to its end.
func (t *trial) one(f fault, o *outcome) (ended bool, err error) {
	litter, outages := t.litter(), t.outages.Load()
	p, err := t.start(t.under(f))
	if err != nil {
		return false, err
	}
	defer p.kill()
	if p.lives(f.life) {
		if err := t.strike(p, f); err != nil {
			return false, err
		}
		o.count(f)
	}
	if f.last && f.survives() && p.lives(mostAlone) {
		return false, fmt.Errorf("the query goes on and on: it has not ended within %v", mostAlone)
	}
	p.kill()
	switch {
	case p.err == nil:
		return true, nil
	case !p.ProcessState.Exited(): // killed, and before that it has said nothing
		return false, nil
	case f.kind == "full":
		return false, t.complains(p, litter)
	case (outages%2 != 0 || outages != t.outages.Load()) && strings.Contains(p.said.String(), "tried for 10s: "):
		return false, nil // kafka.Sink says that it waits no longer for a broker, and an Apache Kafka takes longer to start on a busy machine
	}
	return false, p.wait()
}

// last runs the role to its end. A group may have given partitions to members that are dead: who ends with its own leaves those unread,
// until the group has forgotten the dead. So it waits for that, and runs twice.
func (t *trial) last() error {
	if t.Group == "" {
		return t.calm(t.role)
	}
	for range 2 {
		time.Sleep(sessionOver)
		if err := t.calm(t.role); err != nil {
			return err
		}
	}
	return nil
}

// run is the trial.
func (t *trial) run(ctx context.Context, read func(r role) (map[string]int, error)) (o *outcome, err error) {
	began := time.Now()
	o = &outcome{faults: map[string]int{}}
	calm := t.role
	calm.Folder, calm.Output, calm.Group = calm.Folder+"-calm", calm.Output+"_calm", ""
	if calm.Sink == "epochs" && t.members > 1 {
		calm.Group = t.Group + "-calm"
	}
	for _, folder := range []string{calm.Folder, t.Folder} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return o, err
		}
	}
	if err := t.calm(calm); err != nil {
		return o, fmt.Errorf("undisturbed: %w", err)
	}
	if err := t.disturb(o); err != nil {
		return o, fmt.Errorf("disturbed: %w", err)
	}
	if err := t.last(); err != nil {
		return o, fmt.Errorf("after the faults: %w", err)
	}
	want, err := read(calm)
	if err != nil {
		return o, err
	}
	got, err := read(t.role)
	if err != nil {
		return o, err
	}
	o.compare(got, want)
	o.took = time.Since(began)
	return o, ctx.Err()
}

// compare counts rows that differ.
func (o *outcome) compare(got, want map[string]int) {
	for line, n := range want {
		o.rows += n
		o.lost += max(0, n-got[line])
	}
	for line, n := range got {
		switch {
		case want[line] == 0:
			o.odd += n
		default:
			o.many += max(0, n-want[line])
		}
	}
}
