package compile

import (
	"testing"

	"cancha/stream/plan"
)

// TestName: a table of any query's name can be asked for in SQL.
func TestName(t *testing.T) {
	for name, want := range map[string]string{"orders by minute": "orders_by_minute", "1e5": "query_1e5", "東京": "query", "": "query", "_a-": "a"} {
		if got := Name(&plan.Plan{Name: name}); got != want {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
}
