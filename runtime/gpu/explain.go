package gpu

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Decision is where an operation ran, and why.
type Decision struct {
	Operation string
	Place     string // "CPU" or "GPU"
	Reason    string
	Predicted time.Duration // where the cost model decided
	Actual    time.Duration // copies included
}

// decisionsKept bounds how many decisions are remembered; the oldest go first.
const decisionsKept = 10_000

// Explain returns what ran where and why, operation by operation, the latest 10,000.
func (s *Session) Explain() Explanation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Explanation{Devices: s.describe(), Missing: s.missing, Decisions: slices.Clone(s.decisions)}
}

// Explanation is where a session's operations ran. It prints as a table of its kinds of operations.
type Explanation struct {
	Devices   []string
	Missing   string // why there is no GPU
	Decisions []Decision
}

// String counts the operations that are alike.
func (e Explanation) String() string {
	type kind struct{ operation, place, reason string }
	var order []kind
	count, actual, predicted := map[kind]int{}, map[kind]time.Duration{}, map[kind]time.Duration{}
	for _, d := range e.Decisions {
		k := kind{d.Operation, d.Place, d.Reason}
		if count[k] == 0 {
			order = append(order, k)
		}
		count[k]++
		actual[k] += d.Actual
		predicted[k] += d.Predicted
	}
	var out strings.Builder
	for _, d := range e.Devices {
		fmt.Fprintln(&out, d)
	}
	if e.Missing != "" {
		fmt.Fprintln(&out, "no GPU:", e.Missing)
	}
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "operation\tran on\tbecause\ttimes\tpredicted\tactual")
	for _, k := range order {
		n := time.Duration(count[k])
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%v\t%v\n", k.operation, k.place, k.reason, count[k], predicted[k]/n, actual[k]/n)
	}
	_ = table.Flush() // to memory
	return out.String()
}

// describe tells what the session works on. The caller holds the lock.
func (s *Session) describe() (all []string) {
	for at, p := range s.places {
		if p == nil {
			continue
		}
		i := p.device.Info()
		line := fmt.Sprintf("%s: %s, %d cores, matrices by %s", side(at), i.Name, i.Cores, i.BLAS)
		if i.Emulated {
			line += " (CPU emulation)"
		}
		all = append(all, line)
	}
	return all
}
