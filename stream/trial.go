package stream

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cancha/stream/internal/flow"
)

// trial times the first calls of a function that a cell hands over by way of package reflect: it may be interpreted, which nothing but the time
// tells. A compiled one costs below a microsecond so (measured: 0.8), an interpreted one 4 to 6, more than all the rest of a query takes for a
// record. It is nil for other functions.
type trial struct {
	name string
	over atomic.Bool

	mu    sync.Mutex // partitions call side by side
	times []time.Duration
}

const (
	trialCalls = 101
	trialLimit = 2 * time.Microsecond // of the median
)

func newTrial(name string, f any) *trial {
	if made := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); made == nil || !strings.HasPrefix(made.Name(), "reflect.") {
		return nil
	}
	return &trial{name: name}
}

func (t *trial) begin() time.Time {
	if t == nil || t.over.Load() {
		return time.Time{}
	}
	return time.Now()
}

// end takes the time of a call; the last one decides, and ends the query where it took too long.
func (t *trial) end(began time.Time, err *error) {
	if began.IsZero() {
		return
	}
	took := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.times = append(t.times, took); len(t.times) != trialCalls {
		return
	}
	t.over.Store(true)
	if median := slices.Sorted(slices.Values(t.times))[trialCalls/2]; median > trialLimit {
		*err = flow.Fatal{Err: fmt.Errorf("stream: the function %q is interpreted, and each call takes %v, more than the rest of the query: "+
			"declare it with func in a cell of its own, which is compiled, or use expressions", t.name, median.Round(100*time.Nanosecond))}
	}
}
