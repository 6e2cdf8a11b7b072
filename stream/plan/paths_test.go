package plan_test

import (
	"fmt"

	"cancha/stream/plan"
)

// What a step names is needed of what comes to the first one, unless a step before it gives it.
func ExamplePaths() {
	var p plan.Paths
	for _, s := range []plan.Step{
		{Op: plan.Explode, Path: "items", Name: "item"},
		{Op: plan.With, Name: "worth", Expr: plan.Field("item.price").Mul(plan.Field("rate"))},
		{Op: plan.Filter, Expr: plan.Field("worth").Gt(plan.Field("items"))},
		{Op: plan.Aggregation, Keys: []string{"city", "itemised"}},
	} {
		fmt.Println(p.Take(s), p.Names)
	}
	// Output:
	// false [items]
	// false [items rate]
	// false [items rate]
	// true [items rate city itemised]
}
