package lwp

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"sync"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
)

// OutcomeDatasetOn is [OutcomeDataset] with its rows made where a session chooses, on its GPU or on the CPU: the same table, to the bit. What a row
// is made of takes more bytes than the row, so a GPU gains nothing by rows alone; Session.Explain tells. It returns with ctx's cause when ctx is done.
func OutcomeDatasetOn(ctx context.Context, s *gpu.Session, ms *Matches) (d *ml.Dataset, err error) {
	rows := gpuRows{session: s, matches: ms, name: "lwp_outcome_rows", width: len(outcomeColumns()), onCPU: func() { d = OutcomeDataset(ms) }}
	values, err := rows.make(ctx)
	if err == nil && values != nil {
		d = &ml.Dataset{Features: outcomeColumns(), Classes: Classes(), Labels: ms.Labels(), Groups: ms.Groups(), Values: values}
	}
	return d, err
}

// GoalsDatasetOn is to [GoalsDataset] what [OutcomeDatasetOn] is to OutcomeDataset.
func GoalsDatasetOn(ctx context.Context, s *gpu.Session, ms *Matches) (d *ml.Dataset, err error) {
	rows := gpuRows{session: s, matches: ms, name: "lwp_goal_rows", width: 2 * len(goalColumns()), onCPU: func() { d = GoalsDataset(ms) }}
	values, err := rows.make(ctx)
	if err == nil && values != nil {
		d = &ml.Dataset{Features: goalColumns(), Values: values}
		each(ms, func(m *Match, v view, remaining float64) { addGoals(d, m, v, remaining) })
	}
	return d, err
}

// gpuRows are rows of all states of some matches.
type gpuRows struct {
	session *gpu.Session
	matches *Matches
	name    string // of the func
	width   int    // numbers for a state
	onCPU   func() // makes the rows in the place of the func, where the CPU is chosen
}

// make returns the rows that a GPU has made; nil where onCPU has.
func (r gpuRows) make(ctx context.Context) (values []float32, err error) {
	l, err := library()
	if err == nil {
		err = r.session.Load(l)
	}
	if err != nil {
		return nil, fmt.Errorf("lwp: make rows: %w", err)
	}
	n := len(r.matches.Matches) * (LastMinute + 1)
	if n > math.MaxInt32/r.width {
		return nil, fmt.Errorf("lwp: %d states have more than %d numbers, to which a device counts; take fewer matches at once", n, math.MaxInt32)
	}
	w := rowWork(int64(n), int64(r.width))
	err = r.session.Do(ctx, gpu.Job{
		Name: "match features", Size: n, Bytes: w.Bytes, Flops: w.Flops, Launches: 1, Copied: w.Bytes,
		Run: func(_ context.Context, d driver.Device, q driver.Queue) (err error) {
			values, err = looked(r.matches).rows(d, q, r.name, r.width)
			return err
		},
		CPU: func(context.Context) error { r.onCPU(); return nil },
	})
	return values, err
}

// What the funcs take of a state: MINUTE and COUNTS of gpu.cu.
const (
	minuteCount = 10
	stateCounts = 11
	stateXG     = 2
	statePrior  = 3
)

// seen is what the funcs take of states, one behind the other.
type seen struct {
	counts []int32
	xg     []int64
	priors []float64
}

// looked takes it of all states of matches.
func looked(ms *Matches) (s seen) {
	for i := range ms.Matches {
		m := &ms.Matches[i]
		for k := range m.States {
			s.add(&m.States[k], m.Prior)
		}
	}
	return s
}

func (s *seen) add(of *State, p Prior) {
	h, a := &of.Home, &of.Away
	s.counts = append(s.counts, h.Goals, a.Goals, h.Reds, a.Reds, h.OnTarget, a.OnTarget, h.FinalThird, a.FinalThird, h.Box, a.Box, of.minute)
	s.xg = append(s.xg, h.XG, a.XG)
	s.priors = append(s.priors, p.Home, p.Away, p.Elo)
}

// rows has a func make them on a device.
func (s seen) rows(d driver.Device, q driver.Queue, name string, width int) ([]float32, error) {
	n := len(s.counts) / stateCounts
	out, err := d.Alloc(driver.Float32, n*width)
	if err != nil {
		return nil, err
	}
	l := driver.Launch{Func: name, Args: []driver.Arg{driver.At(out, 0)}}
	for _, slice := range []any{s.counts, s.xg, s.priors} {
		kind, n, err := driver.SliceType(slice)
		if err != nil {
			return nil, err
		}
		m, err := d.Alloc(kind, n)
		if err != nil {
			return nil, err
		}
		if err := q.CopyIn(m, 0, slice); err != nil {
			return nil, err
		}
		l.Args = append(l.Args, driver.At(m, 0))
	}
	l.Args = append(l.Args, driver.Int(n))
	values := make([]float32, n*width)
	return values, errors.Join(q.Launch(l), q.CopyOut(values, out, 0))
}

//go:embed gpu.cu
var gpuSource string

//go:embed gpu.ptx
var gpuPTX string

// library is what the rows of features are made by on a GPU.
var library = sync.OnceValues(func() (*driver.Library, error) {
	return driver.NewLibrary("ml/lwp", gpuSource, gpuPTX,
		rowsFunc("lwp_outcome_rows", "a row of outcomeColumns for each state", len(outcomeColumns()), func(dst []float32, home, _ view) { appendOutcomeRow(dst, home) }),
		rowsFunc("lwp_goal_rows", "two rows of goalColumns for each state, as home and as away see it", 2*len(goalColumns()),
			func(dst []float32, home, away view) { appendGoalRow(appendGoalRow(dst, home), away) }))
})

// rowWork is what it takes to make rows of n states, so many numbers for each.
func rowWork(n, width int64) driver.Work {
	const formulas = 3 // steps for a number, about
	return driver.Work{Bytes: n * (4*stateCounts + 8*stateXG + 8*statePrior + 4*width), Flops: formulas * float64(n*width)}
}

// rowsFunc makes rows of width numbers for each state, on the CPU by the functions that make all rows.
func rowsFunc(name, doc string, width int, row func(dst []float32, home, away view)) driver.LibraryFunc {
	return driver.LibraryFunc{
		Name: name, Doc: doc + ", of its counts (goals, red cards, shots on target, entries into the final third and into the box, home then away, and the minute), expected goals and priors",
		Params: []string{"out float* rows", "const int* counts", "const long long* xg", "const double* priors", "int n"},
		Need: func(a driver.Args) map[int]int64 {
			n := a.N(4)
			return map[int]int64{0: driver.Product(n, int64(width)), 1: stateCounts * n, 2: stateXG * n, 3: statePrior * n}
		},
		Grid: func(a driver.Args, multiprocessors int) driver.Grid { return driver.Each(a.N(4), multiprocessors) },
		Work: func(a driver.Args) driver.Work { return rowWork(a.N(4), int64(width)) },
		Host: func(cores driver.Cores, a []any) {
			rows, s, n := a[0].([]float32), seen{a[1].([]int32), a[2].([]int64), a[3].([]float64)}, int(a[4].(int32))
			const together = 256
			cores((n+together-1)/together, func(block int) {
				for i := block * together; i < min(n, (block+1)*together); i++ {
					home, away := s.views(i)
					row(rows[i*width:i*width:(i+1)*width], home, away)
				}
			})
		},
	}
}

// views are those of state i.
func (s seen) views(i int) (home, away view) {
	c, p := s.counts[i*stateCounts:][:stateCounts], s.priors[i*statePrior:][:statePrior]
	of := State{minute: c[minuteCount]}
	for k, side := range []*Side{&of.Home, &of.Away} {
		side.Goals, side.Reds, side.OnTarget, side.FinalThird, side.Box, side.XG = c[k], c[2+k], c[4+k], c[6+k], c[8+k], s.xg[i*stateXG+k]
	}
	return views(&of, Prior{Home: p[0], Away: p[1], Elo: p[2]})
}

// NewLiveOn returns a scorer as [NewLive] does, whose forest is asked where a session chooses, on its GPU or on the CPU: the answers are the same, to the
// bit. Session.Explain tells where and why, under "forest predict". A model without a forest, such as a network's, is asked on the CPU as ever. Close
// gives back what the scorer has in the session.
func NewLiveOn(s *gpu.Session, m *Model, matches int) (*Live, error) {
	l := NewLive(m, matches)
	var err error
	if l.placed, err = placeForest(s, m.of); err != nil {
		return nil, fmt.Errorf("lwp: score in a session: %w", err)
	}
	return l, nil
}

// placeForest has a session know an estimator's forest. Of what has none the result is the zero value.
func placeForest(s *gpu.Session, of estimator) (placed, error) {
	switch e := of.(type) {
	case remaining:
		return placeNumbers(s, e.Regressor)
	case *average:
		return placeNumbers(s, e.forest)
	case *calibrated:
		return placeForest(s, e.outcomes)
	case outcomes:
		if f, ok := e.Classifier.(trees); ok {
			return placeClasses(s, f.Classifier)
		}
	}
	return placed{}, nil
}

func placeNumbers(s *gpu.Session, f *forest.Regressor) (placed, error) {
	in, err := f.On(s)
	if err != nil {
		return placed{}, err
	}
	return placed{in.ValuesTo, in.Close}, nil
}

func placeClasses(s *gpu.Session, f *forest.Classifier) (placed, error) {
	in, err := f.On(s)
	if err != nil {
		return placed{}, err
	}
	return placed{in.ProbasTo, in.Close}, nil
}
