package eval

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/magic"
)

// meter measures what the process does between start and report.
type meter struct {
	wall           time.Time
	user, system   time.Duration
	mallocs, bytes uint64
}

// start begins the measurement, unless it has begun.
func (m *meter) start() {
	if !m.wall.IsZero() {
		return
	}
	m.mallocs, m.bytes = allocations()
	m.user, m.system = processor()
	m.wall = time.Now()
}

// report writes what has passed since start to the cell's output.
func (m *meter) report() {
	wall := time.Since(m.wall)
	user, system := processor()
	mallocs, bytes := allocations()
	user, system = user-m.user, system-m.system
	fmt.Fprintf(cellio.Stdout, "CPU times: user %s, sys: %s, total: %s\nWall time: %s\nAllocations: %s, %s\n",
		duration(user), duration(system), duration(user+system), duration(wall), count(int(mallocs-m.mallocs)), size(bytes-m.bytes))
}

func allocations() (mallocs, bytes uint64) {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Mallocs, s.TotalAlloc
}

// processor is the time that the process has been run for.
func processor() (user, system time.Duration) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// timed compiles a statement that is measured once. Its value, if it is the last step, is shown.
func (s *steps) timed(code string, last bool) (func() error, error) {
	run, show, err := s.piece(code, last)
	if err != nil {
		return nil, err
	}
	return func() error {
		var m meter
		m.start()
		run()
		m.report()
		show()
		return nil
	}, nil
}

// loops is what %timeit is asked for.
type loops struct {
	n    int // loops of a run, 0: enough for minRun
	runs int
}

const (
	defaultRuns = 7
	minRun      = 200 * time.Millisecond
	maxLoops    = 1_000_000_000
)

// readLoops reads the options of %timeit.
func readLoops(args string) (loops, error) {
	l := loops{runs: defaultRuns}
	words := strings.Fields(args)
	for i := 0; i < len(words); i++ {
		option, value := words[i], ""
		if len(option) > 2 {
			option, value = option[:2], option[2:]
		} else if i++; i < len(words) {
			value = words[i]
		}
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 || number > maxLoops {
			return l, fmt.Errorf("%s takes a number from 1 to %s", option, count(maxLoops))
		}
		switch option {
		case "-n":
			l.n = number
		case "-r":
			l.runs = number
		default:
			return l, fmt.Errorf("there is no option %s", option)
		}
	}
	return l, nil
}

var errLoopEnded = errors.New("the loop around what is timed has ended early")

// timeit compiles a statement with a loop around it, and measures that.
func (s *steps) timeit(c *magic.Command, code string) (func() error, error) {
	l, err := readLoops(c.Args)
	if err != nil {
		return nil, fail(c, "%%timeit: %v", err)
	}
	checked, err := s.checkLoop(s.name, code)
	if err != nil {
		return nil, err
	}
	s.effects(checked)
	unit, run, err := s.build(checked, s.task)
	if err != nil {
		return nil, err
	}
	return func() error {
		s.note(s.request.Cell, append(unit.Notes, checked.Remarks...))
		run()
		loop, ok := loopOf(s.machine.Shown(s.request.Cell))
		if !ok {
			return fail(c, "%%timeit: the statement cannot be put into a loop")
		}
		text, err := l.measure(loop)
		if err != nil {
			return fail(c, "%%timeit: %v", err)
		}
		s.print("%s\n", text)
		return nil
	}, nil
}

// checkLoop checks what is timed. An error as its value fails the cell, as it would if it were not timed.
func (s *steps) checkLoop(name, code string) (*check.Cell, error) {
	return s.scope.CheckLoop(name, code, s.failsByErrors())
}

// loopOf is the function that a loop's cell shows.
func loopOf(shown []any) (loop func(n int) bool, ok bool) {
	if len(shown) != 1 {
		return nil, false
	}
	loop, ok = shown[0].(func(n int) bool)
	return loop, ok
}

// measure runs a loop often enough and tells the mean and the standard deviation of the runs.
func (l loops) measure(loop func(n int) bool) (text string, err error) {
	run := func() (time.Duration, error) {
		start := time.Now()
		if !loop(l.n) {
			return 0, errLoopEnded
		}
		return time.Since(start), nil
	}
	if l.n == 0 {
		if err := l.choose(run); err != nil {
			return "", err
		}
	}
	each := make([]float64, l.runs)
	for i := range each {
		took, err := run()
		if err != nil {
			return "", err
		}
		each[i] = float64(took) / float64(l.n)
	}
	mean, deviation := spread(each)
	return fmt.Sprintf("%s ± %s per loop (mean ± std. dev. of %s, %s each)",
		nanoseconds(mean), nanoseconds(deviation), plural(l.runs, "run"), plural(l.n, "loop")), nil
}

// choose sets the number of loops of a run: the first of 1, 2, 5, 10, 20, … with which it lasts long enough.
func (l *loops) choose(run func() (time.Duration, error)) error {
	for decade := 1; ; decade *= 10 {
		for _, step := range []int{1, 2, 5} {
			l.n = decade * step
			took, err := run()
			if err != nil || took >= minRun || l.n >= maxLoops {
				return err
			}
		}
	}
}

// spread is the mean of numbers and their standard deviation (of a population, as in IPython).
func spread(numbers []float64) (mean, deviation float64) {
	for _, x := range numbers {
		mean += x / float64(len(numbers))
	}
	for _, x := range numbers {
		deviation += (x - mean) * (x - mean) / float64(len(numbers))
	}
	return mean, math.Sqrt(deviation)
}

// duration writes a time with three digits.
func duration(d time.Duration) string { return nanoseconds(float64(d)) }

func nanoseconds(ns float64) string {
	if ns >= float64(time.Minute) {
		return time.Duration(ns).Round(time.Second / 10).String()
	}
	for _, u := range []struct {
		unit string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.size {
			return digits(ns/u.size) + " " + u.unit
		}
	}
	return digits(ns) + " ns"
}

// digits writes a number with three digits, more where it has more in front of the point.
func digits(x float64) string {
	switch {
	case x >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 2, 64), ".00")
}

// count writes a number with a comma every three digits.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return count(n) + " " + what
}

// size writes a number of bytes.
func size(bytes uint64) string {
	x := float64(bytes)
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if x < 1000 || unit == "GB" {
			return digits(x) + " " + unit
		}
		x /= 1000
	}
	return ""
}
