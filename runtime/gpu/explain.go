package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/runtime/grid"
)

// Decision is where an operation ran, and why.
type Decision struct {
	Operation string        `json:"operation"`
	Place     string        `json:"place"` // "CPU" or "GPU"
	Reason    string        `json:"reason"`
	Predicted time.Duration `json:"predictedNanoseconds,omitempty"` // where the cost model decided
	Actual    time.Duration `json:"actualNanoseconds"`              // copies included
}

// decisionsKept bounds how many decisions are remembered; the oldest go first.
const decisionsKept = 10_000

// Explain returns what ran where and why, operation by operation, the latest 10,000, as far as the configuration asks for them.
func (s *Session) Explain() Explanation {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := slices.DeleteFunc(slices.Clone(s.decisions), func(d Decision) bool {
		return s.config.Explain == "none" || s.config.Explain == "not_on_gpu" && d.Place == onGPU.String()
	})
	return Explanation{Devices: s.describe(), Missing: s.missing, Decisions: told}
}

// Explanation is where a session's operations ran. It shows as a table of its kinds of operations.
type Explanation struct {
	Devices   []string   `json:"devices"`
	Missing   string     `json:"missing,omitempty"` // why there is no GPU
	Decisions []Decision `json:"decisions"`
}

// MIMEBundle shows the table.
func (e Explanation) MIMEBundle() map[string]any { return e.grid().MIMEBundle() }

// String counts the operations that are alike.
func (e Explanation) String() string { return e.grid().Text() }

// kind is what operations have in common that are alike.
type kind struct{ operation, place, reason string }

func (e Explanation) grid() grid.Grid {
	var order []kind
	alike := map[kind][]Decision{}
	for _, d := range e.Decisions {
		k := kind{d.Operation, d.Place, d.Reason}
		if alike[k] == nil {
			order = append(order, k)
		}
		alike[k] = append(alike[k], d)
	}
	g := grid.Grid{Caption: strings.Join(e.Devices, "; "), Header: []string{"operation", "ran on", "because", "times", "predicted", "actual"}}
	if e.Missing != "" {
		g.Note = "no GPU: " + e.Missing
	}
	for _, k := range order {
		g.Rows = append(g.Rows, k.row(alike[k], e.Missing))
	}
	return g
}

// row has the means of operations that are alike.
func (k kind) row(all []Decision, missing string) []string {
	var predicted, actual time.Duration
	for _, d := range all {
		predicted += d.Predicted
		actual += d.Actual
	}
	n := time.Duration(len(all))
	row := []string{k.operation, k.place, k.reason, strconv.Itoa(len(all)), "", brief(actual / n)}
	if k.reason == missing {
		row[2] = "no GPU" // the note says why
	}
	if predicted > 0 {
		row[4] = brief(predicted / n)
	}
	return row
}

// brief writes a duration with three digits.
func brief(d time.Duration) string {
	unit := time.Duration(1)
	for d.Abs() >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}

// describe tells what the session works on. The caller holds the lock.
func (s *Session) describe() (all []string) {
	for at, p := range s.places {
		if p == nil {
			continue
		}
		i := p.device.Info()
		cores := [...]string{onCPU: "cores", onGPU: "multiprocessors"}[at]
		all = append(all, fmt.Sprintf("%s: %s, %d %s, matrices by %s", side(at), i.Label(), i.Cores, cores, i.BLAS))
	}
	return all
}
