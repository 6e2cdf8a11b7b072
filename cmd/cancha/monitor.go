//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"cancha/jobs"
	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/report"
)

// monitorOptions is what "cancha monitor" is asked for.
type monitorOptions struct {
	folder string // "": the RabbitMQ of the environment
	out    string // file of results; "": none
	all    bool
	most   int           // results; 0: until it is ended
	long   time.Duration // 0: until it is ended
}

func parseMonitor(args []string) (o monitorOptions, err error) {
	flags := newFlags("monitor", "", `Follows how jobs end: shows statistics by job type and worker, and writes each result as a line of JSON into a file, for cancha report.
It takes nothing away from who reads result_queue: it asks the scheduler. Ended by ^C, -n or -for, it prints the statistics. With a file that is there it goes on
where that ends, and has what ended meanwhile, too, as far as the scheduler still keeps it; no result is there twice.`)
	said := jobsFlag(flags)
	flags.StringVar(&o.out, "o", "", "`file` that results are appended to, a line each")
	flags.BoolVar(&o.all, "all", false, "begin with the results that the scheduler still keeps, not with the next one")
	flags.IntVar(&o.most, "n", 0, "end after so many `results`")
	flags.DurationVar(&o.long, "for", 0, "end after a `duration`")
	if err := parseAll(flags, args); err != nil {
		return o, err
	}
	if o.most < 0 || o.long < 0 {
		return o, usageError{"monitor", fmt.Errorf("-n %d, -for %v: both are from 0", o.most, o.long)}
	}
	o.folder, err = jobsPlace(flags, *said)
	return o, err
}

func runMonitor(ctx context.Context, args []string) error {
	o, err := parseMonitor(args)
	if err != nil {
		return err
	}
	m := &jobMonitor{options: o, screen: screen{out: os.Stdout, live: terminal(os.Stdout)}, log: os.Stderr}
	if m.journal, err = report.OpenJournal(o.out, func(r *report.Record) { m.measures.Add(r) }); err != nil {
		return err
	}
	if n := m.journal.Torn(); n > 0 {
		fmt.Fprintf(os.Stderr, "%s: the last line was cut off, and is taken out (%d bytes)\n", o.out, n)
	}
	if o.long > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.long)
		defer cancel()
	}
	return errors.Join(m.run(ctx), m.journal.Close())
}

// jobMonitor follows how jobs end.
type jobMonitor struct {
	options  monitorOptions
	journal  *report.Journal
	measures report.Measures
	screen   screen
	log      io.Writer // what a person should know beside the statistics
	taken    int       // results that were new
	begun    bool
	after    uint64 // the event that was looked at last
}

// run follows until the context ends, or there are as many as were asked for, and shows what it has come to.
func (m *jobMonitor) run(ctx context.Context) error {
	b, err := waitForJobs(ctx, m.options.folder, "cancha monitor")
	if err != nil {
		return err
	}
	return errors.Join(m.persist(ctx, b), b.Close(), m.screen.last(&m.measures))
}

// persist follows anew where the scheduler or the broker were away. Only an error of the file ends it.
func (m *jobMonitor) persist(ctx context.Context, b queue.Broker) error {
	for {
		k, err := jobs.Open(ctx, jobs.Config{Broker: b, Forget: time.Minute})
		if err == nil {
			err = errors.Join(m.follow(ctx, k), k.Close())
		}
		switch {
		case err == nil || errors.As(err, new(fileError)):
			return err
		case ctx.Err() != nil: // it was to end
			return nil
		}
		fmt.Fprintf(m.log, "%v; asking again\n", err)
		pause(ctx, time.Second)
	}
}

// glance is how often it asks: the scheduler keeps 10,000 events.
const glance = 250 * time.Millisecond

// follow takes results until the context ends, or there are as many as were asked for.
func (m *jobMonitor) follow(ctx context.Context, k *jobs.Cluster) error {
	err := m.begin(ctx, k)
	for err == nil && !m.full() && ctx.Err() == nil {
		more := false
		if more, err = m.step(ctx, k); err == nil && !more {
			pause(ctx, glance)
		}
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (m *jobMonitor) full() bool { return m.options.most > 0 && m.taken >= m.options.most }

// fileError is one of the file, which does not pass by itself.
type fileError struct{ error }

func (e fileError) Unwrap() error { return e.error }

// begin finds the event behind which to go on: that of the last line, if the scheduler's store is still the one that it came from and has that event. If not, all
// that has ended is looked through.
func (m *jobMonitor) begin(ctx context.Context, k *jobs.Cluster) (err error) {
	last := m.journal.Last()
	switch {
	case m.options.all && !m.begun || last.Event == 0 && m.measures.Jobs() > 0:
		err = m.catchUp(ctx, k)
	case last.Event == 0 && !m.begun:
		m.after, err = newest(ctx, k)
	case last.Event > 0:
		err = m.resume(ctx, k, &last)
	}
	m.begun = m.begun || err == nil
	return err
}

// resume goes on behind a line, if its event is one of the scheduler's.
func (m *jobMonitor) resume(ctx context.Context, k *jobs.Cluster, last *report.Record) error {
	e, err := endings(ctx, k, last.Event-1, 1)
	if err != nil {
		return err
	}
	if e.Missed || len(e.All) != 1 || e.All[0].Number != last.Event || e.All[0].ID != last.ID {
		return m.catchUp(ctx, k)
	}
	m.after = last.Event
	return nil
}

// endings asks with patience.
func endings(ctx context.Context, k *jobs.Cluster, after uint64, most int) (jobs.Endings, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, jobsPatience, fmt.Errorf("nothing has come for %v", jobsPatience))
	defer cancel()
	return k.Endings(ctx, after, most)
}

// newest is the number of the last event: of those behind one that is never reached there is none, and it says where to go on.
func newest(ctx context.Context, k *jobs.Cluster) (uint64, error) {
	e, err := endings(ctx, k, 1<<62, 1)
	return e.Next, err
}

// step takes what has ended since; more tells that there is more at once.
func (m *jobMonitor) step(ctx context.Context, k *jobs.Cluster) (more bool, err error) {
	e, err := endings(ctx, k, m.after, 0)
	if err != nil {
		return false, err
	}
	if e.Missed {
		fmt.Fprintln(m.log, "more has happened than the scheduler remembers, or its store is another one: looking through all jobs")
		return true, m.catchUp(ctx, k)
	}
	var all []*job.Job
	var numbers []uint64
	for _, one := range e.All {
		if one.Job != nil {
			all, numbers = append(all, one.Job), append(numbers, one.Number)
		}
	}
	m.after = e.Next
	return e.More, m.take(all, numbers)
}

// ends are the states in which jobs have ended.
func ends() []jobs.State {
	return slices.DeleteFunc(job.States(), func(s jobs.State) bool { return !s.Ended() })
}

// catchUp takes all jobs that have ended and are still kept, and goes on behind the event from before it began: what has ended since comes again, and is known. New
// jobs push those that are listed behind, so that some are seen twice and none is passed over.
func (m *jobMonitor) catchUp(ctx context.Context, k *jobs.Cluster) error {
	after, err := newest(ctx, k)
	if err != nil {
		return err
	}
	for skip := 0; !m.full(); {
		asking, cancel := context.WithTimeoutCause(ctx, jobsPatience, fmt.Errorf("nothing has come for %v", jobsPatience))
		page, more, err := k.Jobs(asking, jobs.Query{States: ends(), Limit: 500, Skip: skip})
		cancel()
		if err != nil {
			return err
		}
		listed := len(page)
		slices.SortFunc(page, func(a, b *jobs.Job) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.ID, b.ID)) })
		page = slices.DeleteFunc(page, func(j *jobs.Job) bool { return !j.State.Ended() }) // it was replayed meanwhile
		if err := m.take(page, make([]uint64, len(page))); err != nil {
			return err
		}
		if skip += listed; !more || listed == 0 {
			break
		}
	}
	m.after = after
	return nil
}

// take writes and counts results, of which there are not more than were asked for.
func (m *jobMonitor) take(all []*jobs.Job, events []uint64) error {
	if left := m.options.most - m.taken; m.options.most > 0 && len(all) > left {
		all, events = all[:left], events[:left]
	}
	added, err := m.journal.Append(all, events)
	if err != nil {
		return fileError{err}
	}
	for i := range added {
		m.measures.Add(&added[i])
	}
	m.taken += len(added)
	return m.screen.show(&m.measures)
}

// screen shows statistics: in place on a terminal, elsewhere at the end alone.
type screen struct {
	out   io.Writer
	live  bool
	shown int // jobs
	lines int // of what stands there
	at    time.Time
}

// show shows them, each second at most.
func (s *screen) show(m *report.Measures) error {
	if !s.live || m.Jobs() == s.shown && s.lines > 0 || time.Since(s.at) < time.Second {
		return nil
	}
	return s.draw(m)
}

func (s *screen) last(m *report.Measures) error { return s.draw(m) }

// draw writes over what stands there. Lines that are too long are cut, or they would be more than were counted.
func (s *screen) draw(m *report.Measures) error {
	var text strings.Builder
	if err := m.Print(&text); err != nil {
		return err
	}
	before, after := "", ""
	if s.live {
		before, after = "\x1b[?7l", "\x1b[?7h"
		if s.lines > 0 {
			before = fmt.Sprintf("\x1b[%dF\x1b[J", s.lines) + before
		}
	}
	s.shown, s.lines, s.at = m.Jobs(), strings.Count(text.String(), "\n"), time.Now()
	_, err := io.WriteString(s.out, before+text.String()+after)
	return err
}

// runReport makes a report of a file of results.
func runReport(_ context.Context, args []string) error {
	flags := newFlags("report", " FILE", "Makes of a file of results, as cancha monitor writes it, report.md, tables as CSV, and figures: a GPU against a CPU by job type, throughput over time,\npredicted against measured time.")
	folder := flags.String("o", "report", "`folder` that they are written into")
	files, err := parseMixed(flags, args)
	if err == nil && len(files) != 1 {
		err = usageError{"report", fmt.Errorf("%d files: name one, as cancha monitor -o writes it", len(files))}
	}
	if err != nil {
		return err
	}
	f, err := report.ReadFile(files[0])
	if err != nil {
		return err
	}
	if f.Torn {
		fmt.Fprintf(os.Stderr, "%s: the last line has no end, and is left out\n", files[0])
	}
	if err := report.Write(*folder, f.Records, files[0]); err != nil {
		return err
	}
	fmt.Printf("%s of %s\n", *folder, count(len(f.Records), "job", "jobs"))
	return nil
}
