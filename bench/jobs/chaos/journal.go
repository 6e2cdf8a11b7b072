package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// The lines of journals: what has happened to an attempt, or that a scheduler leads.
const (
	claimed = "claim"  // a worker is about to ask for it, for the first time
	begun   = "begin"  // a worker's function begins
	ended   = "end"    // it returns, and how
	stored  = "stored" // a scheduler has put down how it has ended: it is about to acknowledge the report
	leads   = "leads"  // a scheduler has the store
	exits   = "exits"  // a worker's process is about to end, for a job does that
	anew    = "anew"   // a worker is about to start anew in its process, for all its slots are stuck
)

// journal is the file in which one process notes what it does.
type journal struct{ file *os.File }

func newJournal(r role) (*journal, error) {
	f, err := os.OpenFile(filepath.Join(r.Folder, fmt.Sprintf("%s%s.%d.journal", r.Name, r.ID, os.Getpid())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &journal{f}, err
}

// note writes a line at once: what one call has written outlives the process.
func (j *journal) note(what, name string, attempt int, how string) {
	if _, err := fmt.Fprintf(j.file, "%s %s %d %d %s\n", what, name, attempt, time.Now().UnixMicro(), how); err != nil {
		panic(err)
	}
}

// claims is a worker's broker that notes what is claimed.
type claims struct {
	queue.Broker
	*journal
	mu   sync.Mutex
	seen map[string]bool // tokens of claims
}

func (c *claims) Announce(ctx context.Context, topic string, m queue.Message) error {
	var b job.Beat
	if topic == job.TopicWorkers && json.Unmarshal(m.Body, &b) == nil {
		c.mu.Lock()
		for _, one := range b.Claims {
			if !c.seen[one.Token] {
				c.seen[one.Token] = true
				c.note(claimed, one.Job, one.Attempt, "-")
			}
		}
		c.mu.Unlock()
	}
	return c.Broker.Announce(ctx, topic, m)
}

// reports is a scheduler's broker that notes which reports are put down.
type reports struct {
	queue.Broker
	*journal
}

func (r *reports) Consume(ctx context.Context, name string, prefetch int) (queue.Consumer, error) {
	c, err := r.Broker.Consume(ctx, name, prefetch)
	if err != nil || name != job.QueueReports {
		return c, err
	}
	return &reading{c, r.journal}, nil
}

type reading struct {
	queue.Consumer
	*journal
}

func (r *reading) Next(ctx context.Context) (*queue.Delivery, error) {
	d, err := r.Consumer.Next(ctx)
	if err == nil {
		d.Settler = &settling{d.Settler, r.journal, d.Body}
	}
	return d, err
}

type settling struct {
	queue.Settler
	*journal
	body []byte
}

func (s *settling) Settle(ctx context.Context, o queue.Outcome) error {
	var r job.Report
	if o.Verdict == queue.Ack && json.Unmarshal(s.body, &r) == nil {
		s.note(stored, r.Job, r.Attempt, "-")
	}
	return s.Settler.Settle(ctx, o)
}

// run is one attempt, as its worker has noted it.
type run struct {
	job     string
	attempt int
	pid     int
	claimed time.Time
	from    time.Time
	to      time.Time // zero: its end was not noted
	how     string    // good, failed, dropped
}

// attempt names one.
type attempt struct {
	job    string
	number int
}

// notes are what all journals have.
type notes struct {
	runs   map[string][]*run
	claims map[attempt][]*run // whose function was not begun, by the same process
	stored map[attempt][]time.Time
	led    map[int]bool // processes that were schedulers with the store
	ends   []fault      // of workers, by jobs of theirs
}

func readJournals(folder string) (*notes, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.journal"))
	if err != nil {
		return nil, err
	}
	n := &notes{map[string][]*run{}, map[attempt][]*run{}, map[attempt][]time.Time{}, map[int]bool{}, nil}
	for _, name := range names {
		if err := n.read(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return n, nil
}

func (n *notes) read(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, rest, _ := strings.Cut(filepath.Base(name), ".")
	pid := 0
	if _, err := fmt.Sscanf(rest, "%d.journal", &pid); err != nil {
		return err
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var what string
		var micro int64
		r := &run{pid: pid}
		if _, err := fmt.Sscan(lines.Text(), &what, &r.job, &r.attempt, &micro, &r.how); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if err := n.take(what, r, time.UnixMicro(micro)); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
	}
	return nil
}

// take takes in one line.
func (n *notes) take(what string, r *run, at time.Time) error {
	a := attempt{r.job, r.attempt}
	switch what {
	case leads:
		n.led[r.pid] = true
	case exits, anew:
		n.ends = append(n.ends, fault{what, "worker", r.pid, at, at})
	case stored:
		n.stored[a] = append(n.stored[a], at)
	case claimed:
		r.claimed = at
		n.claims[a] = append(n.claims[a], r)
	case begun:
		r.from, r.claimed = at, n.claimOf(a, r.pid)
		if r.claimed.IsZero() {
			return fmt.Errorf("it was not claimed")
		}
		n.runs[r.job] = append(n.runs[r.job], r)
	case ended:
		open := slices.IndexFunc(n.runs[r.job], func(b *run) bool { return b.pid == r.pid && b.attempt == r.attempt && b.to.IsZero() })
		if open < 0 {
			return fmt.Errorf("it has not begun")
		}
		n.runs[r.job][open].to, n.runs[r.job][open].how = at, r.how
	}
	return nil
}

// claimOf is when a process claimed an attempt that it begins.
func (n *notes) claimOf(a attempt, pid int) (at time.Time) {
	for _, c := range n.claims[a] {
		if c.pid == pid {
			at = c.claimed
		}
	}
	return at
}

// storedOf is when the end of a run was put down; zero: never.
func (n *notes) storedOf(r *run) (first time.Time) {
	for _, at := range n.stored[attempt{r.job, r.attempt}] {
		if at.After(r.from) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
