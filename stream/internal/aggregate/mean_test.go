package aggregate_test

import (
	"math/rand/v2"
	"testing"

	"cancha/stream/internal/aggregate"
	"cancha/stream/internal/changelog"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// TestMeanIsSumByCount: to the last digit, in parts that are merged and after a snapshot, alone and as one of Stats.
func TestMeanIsSumByCount(t *testing.T) {
	x := plan.Field("x")
	list := []plan.Aggregate{{Kind: "count", Name: "n"}, {Kind: "sum", Name: "sum", Expr: x}, {Kind: "mean", Name: "mean", Expr: x}, {Kind: "stats", Name: "all", Expr: x}}
	set, err := aggregate.Compile(list, nil, one{value.Float})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 1))
	for range 1000 {
		parts := []*aggregate.Cell{set.New(), set.New()}
		for i := range 1 + random.IntN(60) {
			set.Add(parts[random.IntN(2)], eval.Row{value.FloatOf(float64(random.IntN(4000)) / 4)}, int64(i))
		}
		whole := set.Load(changelog.BytesOf(parts[0].Append(nil)))
		whole.Merge(parts[1])
		row := set.Results(nil, whole, nil)
		want := row[1].Float() / float64(row[0].Int())
		if mean, ofStats := row[2].Float(), row[6].Float(); mean != want || ofStats != want {
			t.Fatalf("got the mean %v, and %v of stats, want %v / %v = %v", mean, ofStats, row[1], row[0], want)
		}
	}
}

// TestSampleOfAnOlderSnapshot: one that told no sum is read, and its mean is as near as it was.
func TestSampleOfAnOlderSnapshot(t *testing.T) {
	set, err := aggregate.Compile([]plan.Aggregate{{Kind: "stats", Name: "all", Expr: plan.Field("x")}}, nil, one{value.Float})
	if err != nil {
		t.Fatal(err)
	}
	bytes := changelog.AppendInt(nil, 4)
	for _, x := range []float64{1, 4, 2.5, 5} { // least, greatest, mean, sum of squared deviations
		bytes = changelog.AppendFloat(bytes, x)
	}
	b := changelog.BytesOf(bytes)
	c := set.Load(b)
	if !b.Ok() {
		t.Fatal("the bytes were refused")
	}
	set.Add(c, eval.Row{value.FloatOf(2.5)}, 0)
	row := set.Results(nil, c, nil)
	for i, want := range []float64{5, 1, 4, 2.5, 1.25} {
		if got, _ := row[i].Number(); got != want {
			t.Errorf("column %d: got %v, want %v", i, row[i], want)
		}
	}
}
