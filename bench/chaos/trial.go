package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// trial runs a query undisturbed, and again disturbed, and compares what is in their sinks.
type trial struct {
	role
	program string // that runs roles
	members int    // processes at once
	faults  int
	dice    *rand.Rand
	freezes bool // some are frozen before they are killed

	shortest, longest time.Duration // lives
}

// sessionOver is how long a group knows a member that has been killed or frozen, and some more.
const sessionOver = 8 * time.Second

// outcome is what a trial found.
type outcome struct {
	rows            int
	kills, freezes  int
	lost, odd, many int // rows that are not there, that should not be there, that are there too often
	took            time.Duration
}

func (o outcome) ok() bool { return o.lost == 0 && o.odd == 0 && o.many == 0 }

func (o outcome) String() string {
	text := fmt.Sprintf("%d rows, %d kills, %d frozen, %v", o.rows, o.kills, o.freezes, o.took.Round(time.Second))
	if o.ok() {
		return "the same: " + text
	}
	return fmt.Sprintf("NOT the same: %d lost, %d wrong, %d too often; %s", o.lost, o.odd, o.many, text)
}

// start starts a process of the trial.
func (t *trial) start(r role) (*exec.Cmd, *strings.Builder, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, nil, err
	}
	c := exec.Command(t.program)
	c.Env = append(os.Environ(), roleVariable+"="+string(text))
	said := &strings.Builder{}
	c.Stderr = said
	return c, said, c.Start()
}

// whole runs a role to its end.
func (t *trial) whole(r role) error {
	c, said, err := t.start(r)
	if err != nil {
		return err
	}
	if err := c.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// disturb runs processes of the role, and kills or freezes one after another, each after a while.
func (t *trial) disturb(o *outcome) error {
	var mu sync.Mutex // guards o, dice and left
	left := t.faults
	var failed error
	var members sync.WaitGroup
	for range t.members {
		members.Go(func() {
			for {
				mu.Lock()
				if left == 0 || failed != nil {
					mu.Unlock()
					return
				}
				left--
				life, freeze := t.shortest+time.Duration(t.dice.Int64N(int64(t.longest-t.shortest))), t.freezes && t.members > 1 && t.dice.IntN(6) == 0
				mu.Unlock()
				ended, err := t.one(life, freeze)
				mu.Lock()
				switch {
				case err != nil:
					failed = err
				case ended:
					left = 0
				case freeze:
					o.freezes++
				default:
					o.kills++
				}
				mu.Unlock()
			}
		})
	}
	members.Wait()
	return failed
}

// one runs a process and kills it with -9 after its life; one that is frozen first stays so for longer than its group waits for it.
func (t *trial) one(life time.Duration, freeze bool) (ended bool, err error) {
	c, said, err := t.start(t.role)
	if err != nil {
		return false, err
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return true, err
	case <-time.After(life):
	}
	if freeze {
		if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
			return false, err
		}
		time.Sleep(sessionOver)
		if err := c.Process.Signal(syscall.SIGCONT); err != nil {
			return false, err
		}
		time.Sleep(time.Second)
	}
	_ = c.Process.Kill() // it may have ended by now
	if err := <-done; err == nil {
		return true, nil
	}
	return false, nil
}

// last runs the role to its end. A group may have given partitions to members that are dead: who ends with its own leaves those unread, until the group
// has forgotten the dead. So it waits for that, and runs twice.
func (t *trial) last() error {
	if t.Group == "" {
		return t.whole(t.role)
	}
	for range 2 {
		time.Sleep(sessionOver)
		if err := t.whole(t.role); err != nil {
			return err
		}
	}
	return nil
}

// run is the trial.
func (t *trial) run(ctx context.Context, read func(r role) (map[string]int, error)) (o outcome, err error) {
	began := time.Now()
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
	if err := t.whole(calm); err != nil {
		return o, fmt.Errorf("undisturbed: %w", err)
	}
	if err := t.disturb(&o); err != nil {
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
