package lwp

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/gputest"
	"cancha/runtime/gpu/host"
)

// gpuCases are random states, whose rows are those that tables and streams make.
func gpuCases() map[string]gputest.Case {
	return map[string]gputest.Case{
		"lwp_outcome_rows": func(r *rand.Rand, size func() int) gputest.Call {
			return rowsCase(r, size(), func(dst []float32, home, _ view) []float32 { return appendOutcomeRow(dst, home) })
		},
		"lwp_goal_rows": func(r *rand.Rand, size func() int) gputest.Call {
			return rowsCase(r, size(), func(dst []float32, home, away view) []float32 { return appendGoalRow(appendGoalRow(dst, home), away) })
		},
	}
}

func rowsCase(r *rand.Rand, n int, row func(dst []float32, home, away view) []float32) gputest.Call {
	var s seen
	want := []float32{}
	for range n {
		m, p := State{minute: r.Int32N(110)}, Prior{Home: 3 * r.Float64(), Away: 3 * r.Float64(), Elo: 400 * r.NormFloat64(), Neutral: r.IntN(2) == 0}
		for _, side := range []*Side{&m.Home, &m.Away} {
			side.each(func(int64) int64 { return r.Int64N(1 + r.Int64N(60)) })
			side.XG = r.Int64N(5 * xgUnit)
		}
		s.add(&m, p)
		home, away := views(&m, p)
		want = row(want, home, away)
	}
	return gputest.Call{Args: []any{make([]float32, len(want)), s.counts, s.xg, s.priors, n}, Want: map[int]any{0: want}}
}

func mustRows[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestLibraryOnCPU(t *testing.T) {
	gputest.TestLibrary(t, func(t *testing.T) driver.Device {
		return mustRows(host.Driver{}.Open(t.Context(), 0, driver.Options{}))
	}, mustRows(library()), gpuCases())
}

// sameTables compares tables of a session with those of the CPU, to the bit.
func sameTables(t *testing.T, s *gpu.Session, ms *Matches) {
	t.Helper()
	outcomes, goals := mustRows(OutcomeDatasetOn(t.Context(), s, ms)), mustRows(GoalsDatasetOn(t.Context(), s, ms))
	if want := OutcomeDataset(ms); !reflect.DeepEqual(outcomes, want) {
		t.Errorf("outcomes: got %v rows, want %v, or other values", outcomes.Rows(), want.Rows())
	}
	if want := GoalsDataset(ms); !reflect.DeepEqual(goals, want) {
		t.Errorf("goals: got %v rows, want %v, or other values", goals.Rows(), want.Rows())
	}
}

// TestTablesOn: the tables are the same in a session, by both ways: that of the CPU, and the funcs.
func TestTablesOn(t *testing.T) {
	s := mustRows(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU}))
	defer s.Close()
	ms := loadSeason(t)
	sameTables(t, s, ms)
	if d := s.Explain().Decisions; len(d) != 2 || d[0].Operation != "match features" || d[0].Place != "CPU" {
		t.Errorf("got %+v", d)
	}
	device := mustRows(host.Driver{}.Open(t.Context(), 0, driver.Options{}))
	defer device.Close()
	if err := device.Load(mustRows(library())); err != nil {
		t.Fatal(err)
	}
	got, want := mustRows(looked(ms).rows(device, mustRows(device.NewQueue()), "lwp_goal_rows", 16)), GoalsDataset(ms).Values
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
}
