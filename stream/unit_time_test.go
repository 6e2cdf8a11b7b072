package stream_test

import (
	"fmt"
	"testing"

	. "cancha/stream"
)

// TestTimesInAnotherUnit: a number that no time comes of tells the year that it would be, and the unit in which it is near.
func TestTimesInAnotherUnit(t *testing.T) {
	for _, test := range []struct {
		number string
		of     func(Expr) Expr
		want   string
	}{
		{"1789898529000", Expr.UnixSeconds, "no event time: UnixSeconds of 1789898529000 would be the year 58,689: UnixMillis?"},
		{"1789898529000000", Expr.UnixSeconds, "no event time: UnixSeconds of 1789898529000000 would be the year 56,721,596: UnixMicros?"},
		{"1789898529000000000", Expr.UnixMillis, "no event time: UnixMillis of 1789898529000000000 would be the year 56,721,596: UnixNanos?"},
		{"1e18", Expr.UnixSeconds, "no event time: UnixSeconds of 1000000000000000000 would be the year 31,688,740,476: UnixNanos?"},
		{"-1e14", Expr.UnixSeconds, "no event time: UnixSeconds of -100000000000000 would be the year -3,166,903"},
		{"null", Expr.UnixSeconds, "no event time: from_unix(ts, 1000000000) is absent"},
	} {
		source := Memory("t", [][]Record{{{Value: fmt.Appendf(nil, `{"ts":%s}`, test.number)}}})
		running := finish(t, From(source).EventTime(test.of(Field("ts"))).Select("ts"))
		if reasons := running.BadRecords().Reasons; len(reasons) != 1 || reasons[0].Reason != test.want {
			t.Errorf("%s: got %v, want %s", test.number, reasons, test.want)
		}
	}
}
