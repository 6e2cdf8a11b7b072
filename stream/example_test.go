package stream_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"cancha/stream"
)

func pass(second int, x, y, endX, endY float64) stream.Record {
	at := time.Date(2026, 3, 1, 15, 0, second, 0, time.UTC).Format(time.RFC3339)
	return stream.Record{Value: fmt.Appendf(nil, `{"event":{"match_id":7,"period":1,"type":{"id":30},"team":{"id":1},"location":[%g,%g],`+
		`"pass":{"end_location":[%g,%g]}},"metadata":{"event_time":%q}}`, x, y, endX, endY, at)}
}

// A query names paths and operators; the rows of a window come when the watermark has passed its end.
func Example() {
	source := stream.Memory("events", [][]stream.Record{{pass(5, 60, 40, 63, 44), pass(20, 63, 44, 63, 54), pass(70, 10, 10, 10, 15)}})
	running, err := stream.From(source).
		Watermark(30*time.Second).
		GroupBy("match_id", "team_id").Window(stream.Tumbling(time.Minute)).
		Agg(stream.CountIf("passes", stream.TypeIs(30)),
			stream.Mean("length", stream.Distance("location", "pass.end_location")).If(stream.TypeIs(30))).
		Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := running.Wait(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(running.Results())
	running.Results().WriteCSV(os.Stdout)
	// Output:
	// match_id  team_id  window_start         passes  length
	// 7         1        2026-03-01 15:00:00       2    7.50
	// 7         1        2026-03-01 15:01:00       1    5.00
	// 2 rows × 5
	// match_id,team_id,window_start,passes,length
	// 7,1,2026-03-01T15:00:00Z,2,7.5
	// 7,1,2026-03-01T15:01:00Z,1,5
}
