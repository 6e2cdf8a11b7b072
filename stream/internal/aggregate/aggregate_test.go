package aggregate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cancha/stream/internal/aggregate"
	"cancha/stream/internal/changelog"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// one is a scope with the column x.
type one struct{ kind value.Kind }

func (o one) Kind(string) value.Kind { return o.kind }

func (o one) Field(string, value.Kind) (eval.Node, error) { return eval.Column(0, o.kind), nil }

// results computes statistics of values in parts that are merged, and returns the columns as text.
func results(t *testing.T, list []plan.Aggregate, kind value.Kind, values ...any) []value.Value {
	t.Helper()
	set, err := aggregate.Compile(list, nil, one{kind})
	if err != nil {
		t.Fatal(err)
	}
	parts := []*aggregate.Cell{set.New(), set.New(), set.New()}
	for i, x := range values {
		v, _ := value.Of(x)
		set.Add(parts[i%3], eval.Row{v}, int64(i))
	}
	whole := parts[0].Clone()
	whole.Merge(parts[1])
	whole.Merge(parts[2])
	return set.Results(nil, whole, nil)
}

func TestStatistics(t *testing.T) {
	x := plan.Field("x")
	list := func(kinds ...string) (l []plan.Aggregate) {
		for _, k := range kinds {
			l = append(l, plan.Aggregate{Kind: k, Name: k, Expr: x, N: 2, Quantile: 0.5})
		}
		return l
	}
	show := func(values []value.Value) string {
		var texts []string
		for _, v := range values {
			texts = append(texts, v.String())
		}
		return strings.Join(texts, " ")
	}
	got := show(results(t, list("count", "sum", "min", "max", "mean", "variance", "stats", "first", "last", "distinct"), value.Any, 4, 1, nil, 4, 7))
	if want := "5 16 1 7 4 6 4 1 7 4 6 4 7 3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = show(results(t, list("min", "max", "top", "collect"), value.Text, "b", "a", "c", "a"))
	if want := `a c [{"value":"a","count":2},{"value":"b","count":1}] ["b","a"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = show(results(t, list("sum", "min", "mean", "variance", "stats", "first", "quantile", "distinct"), value.Any))
	if want := "    0       0"; got != want {
		t.Errorf("of nothing: got %q, want %q", got, want)
	}
}

func TestEstimatesAreAsNearAsTheySay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var values []any
	var sorted []float64
	for i := range 90_000 {
		v := math.Exp(random.NormFloat64() * 3)
		if i%3 == 0 {
			v = -v
		}
		values, sorted = append(values, v), append(sorted, v)
	}
	slices.Sort(sorted)
	for _, q := range []float64{0, 0.01, 0.333, 0.5, 0.9, 0.99, 1} {
		got := results(t, []plan.Aggregate{{Kind: "quantile", Name: "q", Expr: plan.Field("x"), Quantile: q}}, value.Any, values...)[0].Float()
		if want := sorted[int(q*float64(len(sorted)-1))]; math.Abs(got-want) > 0.005*math.Abs(want)+1e-12 {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
	got := results(t, []plan.Aggregate{{Kind: "distinct", Name: "n", Expr: plan.Field("x")}}, value.Any, values...)[0].Int()
	if math.Abs(float64(got)-90_000) > 4*0.0081*90_000 {
		t.Errorf("of 90,000 different values %d were counted", got)
	}
	frequent := values[:0:0]
	for i := range 200_000 {
		if i%4 == 0 {
			frequent = append(frequent, i%16)
		} else {
			frequent = append(frequent, i)
		}
	}
	top := results(t, []plan.Aggregate{{Kind: "top", Name: "t", Expr: plan.Field("x"), N: 4}}, value.Any, frequent...)[0].Text()
	for _, v := range []string{`"value":0,`, `"value":4,`, `"value":8,`, `"value":12,`} {
		if !strings.Contains(top, v) {
			t.Errorf("%s is not in %s", v, top)
		}
	}
}

// TestStatisticsShareWhatTheyKeep of the same numbers, and of no others.
func TestStatisticsShareWhatTheyKeep(t *testing.T) {
	of := func(x plan.Expr, condition plan.Expr, kinds ...string) (list []plan.Aggregate) {
		for _, k := range kinds {
			list = append(list, plan.Aggregate{Kind: k, Name: k, Expr: x, Condition: condition})
		}
		return list
	}
	size := func(list []plan.Aggregate) int64 {
		set, err := aggregate.Compile(list, nil, one{value.Any})
		if err != nil {
			t.Fatal(err)
		}
		return set.New().Size()
	}
	x, y, all, some := plan.Field("x"), plan.Field("x").Add(1), plan.Expr{}, plan.Field("x").Gt(2)
	for _, each := range []struct {
		name         string
		shared, like []plan.Aggregate
	}{
		{"a sample", of(x, all, "min", "max", "mean", "variance", "stats"), of(x, all, "mean")},
		{"a sum", of(x, all, "sum", "min", "max"), of(x, all, "sum")},
		{"a sum beside a sample", of(x, all, "sum", "min", "mean"), slices.Concat(of(x, all, "sum"), of(y, all, "mean"))},
		{"other numbers", slices.Concat(of(x, all, "mean", "min"), of(y, all, "mean", "max")), slices.Concat(of(x, all, "mean"), of(y, all, "mean"))},
		{"other rows", slices.Concat(of(x, all, "mean"), of(x, some, "min", "max")), slices.Concat(of(x, all, "mean"), of(y, all, "min"))},
	} {
		if got, want := size(each.shared), size(each.like); got != want {
			t.Errorf("%s: %d bytes are kept, want %d", each.name, got, want)
		}
	}
	list := slices.Concat(of(x, all, "min", "max", "mean", "sum"), of(x, some, "min", "mean"))
	var texts []string
	for _, v := range results(t, list, value.Any, 4, 1, nil, 4, 7) {
		texts = append(texts, v.String())
	}
	if got, want := strings.Join(texts, " "), "1 7 4 16 4 5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCollectedTooMuch: a saved list that is longer than its limit is no state of the statistic; it used to panic where it was merged. What a merge leaves out
// takes no memory.
func TestCollectedTooMuch(t *testing.T) {
	set := func(limit int) *aggregate.Set {
		s, err := aggregate.Compile([]plan.Aggregate{{Kind: "collect", Name: "all", Expr: plan.Field("x"), N: limit}}, nil, one{value.Int})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	filled := func(s *aggregate.Set) *aggregate.Cell {
		c := s.New()
		for i := range int64(3) {
			s.Add(c, eval.Row{value.IntOf(i)}, i)
		}
		return c
	}
	for limit, ok := range map[int]bool{2: false, 3: true, 4: true} {
		s := set(limit)
		b := changelog.BytesOf(filled(set(3)).Append(nil))
		c := s.Load(b)
		if b.Ok() != ok {
			t.Errorf("3 values, and at most %d: ok is %v", limit, b.Ok())
		}
		c.Merge(filled(s))
		if got, want := s.Results(nil, c, nil)[0].String(), map[int]string{2: "[0,1]", 3: "[0,1,2]", 4: "[0,1,2,0]"}[limit]; got != want {
			t.Errorf("merged: got %s, want %s", got, want)
		}
	}
	whole := filled(set(3))
	before := whole.Size()
	if whole.Merge(filled(set(3))); whole.Size() != before {
		t.Errorf("got %d bytes, want %d: there is no more than before", whole.Size(), before)
	}
}
