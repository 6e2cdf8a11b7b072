package spark

import (
	"fmt"
	"strings"

	"cancha/spark/internal/protocol"
)

// Stages tells how far an operation has come.
type Stages struct {
	Stages  []Stage
	Running int64 // tasks that run now
}

// Stage is a part of an operation whose tasks run side by side.
type Stage struct {
	ID        int64
	Tasks     int64
	DoneTasks int64 // that have ended: more than Tasks where some were run again, because they failed or a worker was lost
	Bytes     int64 // read
	Done      bool
}

// Retried is how many tasks were done beyond those that the stage has.
func (s Stage) Retried() int64 { return max(0, s.DoneTasks-s.Tasks) }

func stagesOf(p *protocol.Progress) Stages {
	s := Stages{Running: max(0, p.RunningTasks)} // tasks of a lost worker may be taken off twice
	for _, g := range p.Stages {
		s.Stages = append(s.Stages, Stage{ID: g.Id, Tasks: g.Tasks, DoneTasks: g.DoneTasks, Bytes: g.InputBytes, Done: g.Done})
	}
	return s
}

// Tasks sums up those of all stages so far, and how many of them are done. Further stages may follow. A stage whose result is there from before is
// skipped by Spark, which does not say so: one in front of a stage that is done, of which no task was done, does not count.
func (s Stages) Tasks() (done, all int64) {
	ended := int64(-1)
	for _, g := range s.Stages {
		if g.Done {
			ended = max(ended, g.ID)
		}
	}
	for _, g := range s.Stages {
		if skipped := !g.Done && g.DoneTasks == 0 && g.ID < ended; !skipped {
			done, all = done+min(g.DoneTasks, g.Tasks), all+g.Tasks
		}
	}
	return done, all
}

// Retried is how many tasks were run again.
func (s Stages) Retried() int64 {
	var n int64
	for _, g := range s.Stages {
		n += g.Retried()
	}
	return n
}

// Bytes is how much has been read.
func (s Stages) Bytes() int64 {
	var n int64
	for _, g := range s.Stages {
		n += g.Bytes
	}
	return n
}

// barWidth is how many characters the drawn part has at most.
const barWidth = 24

// String draws a bar: "[######------] 48 of 96 tasks, 8 running, 12 MB read; 2 tasks were run again: they failed, or a worker was lost".
func (s Stages) String() string {
	done, all := s.Tasks()
	full := 0
	if all > 0 {
		full = int(done * barWidth / all)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%s%s] %d of %d tasks, %d running", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), done, all, s.Running)
	if n := s.Bytes(); n > 0 {
		fmt.Fprintf(&b, ", %s read", size(n))
	}
	return b.String() + s.again()
}

// again tells of tasks that were run again; "" if there are none. Spark does not say why. Of a stage that still runs some may be missing: there, tasks that
// have failed count as done.
func (s Stages) again() string {
	switch n := s.Retried(); n {
	case 0:
		return ""
	case 1:
		return "; a task was run again: it failed, or a worker was lost"
	default:
		return fmt.Sprintf("; %d tasks were run again: they failed, or a worker was lost", n)
	}
}

// size writes bytes for the eye.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
