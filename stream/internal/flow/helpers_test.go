package flow_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// second is a second of event time.
const second = int64(time.Second)

// columns are columns of values of any kind.
func columns(names ...string) (list []flow.Column) {
	for _, name := range names {
		list = append(list, flow.Column{Name: name, Kind: value.Any})
	}
	return list
}

// row is a row of Go values.
func row(t testing.TB, values ...any) flow.Row {
	t.Helper()
	var r flow.Row
	for _, x := range values {
		v, ok := value.Of(x)
		if !ok {
			t.Fatalf("no value: %v", x)
		}
		r = append(r, v)
	}
	return r
}

// out collects the rows of an operator as "second: value value".
type out struct{ rows []string }

func (o *out) emit(row flow.Row, t int64) {
	var texts []string
	for _, v := range row {
		if v.Kind() == value.Time {
			texts = append(texts, fmt.Sprintf("%vs", float64(v.Nanos())/float64(second)))
			continue
		}
		texts = append(texts, v.String())
	}
	o.rows = append(o.rows, fmt.Sprintf("%v: %s", math.Round(float64(t)/float64(second)*10)/10+0, strings.Join(texts, " ")))
}

// take returns what has come since the call before.
func (o *out) take() string {
	all := strings.Join(o.rows, "; ")
	o.rows = nil
	return all
}

// emits compares what has come with what should have.
func (o *out) emits(t *testing.T, want string) {
	t.Helper()
	if got := o.take(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// keeps compares an operator's rows with what they should be; without rows it takes no room.
func keeps(t *testing.T, op flow.Op, want int64) {
	t.Helper()
	rows, bytes := op.State()
	if rows != want || (rows == 0) != (bytes == 0) || bytes < 0 {
		t.Errorf("got %d rows of %d bytes, want %d", rows, bytes, want)
	}
}

func count(name string) plan.Aggregate { return plan.Aggregate{Kind: "count", Name: name} }

func grouping(t testing.TB, s plan.Step, l *flow.Layout) *flow.Grouping {
	t.Helper()
	s.Op = plan.Aggregation
	g, err := flow.NewGrouping(s, l)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
