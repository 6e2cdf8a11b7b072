package stream

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/stream"
)

// TestEndless runs a query for as long as ENDLESS says, at full rate, while ever new keys pass by its windows, its deduplication, its sessions
// and its join. From a quarter of the time on the memory of the process stays within 5 %.
func TestEndless(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("ENDLESS"))
	if err != nil {
		t.Skip("ENDLESS is not set: want a time, such as 20m")
	}
	at := func(n int64) time.Time {
		return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * 100 * time.Microsecond)
	}
	made := func(p int, n int64) stream.Record {
		return stream.Record{Time: at(n), Value: fmt.Appendf(nil, `{"key":"user %d of %d","value":%d,"part":%d}`, n/3, p, n%1000, n%7)}
	}
	source := func(name string) *stream.Query {
		return stream.From(stream.Generate(name, 2, 0, made)).Watermark(10 * time.Second).MaxAhead(0)
	}
	windows := source("windows").GroupBy("key").Window(stream.Tumbling(10*time.Second)).Agg(stream.Count("n"), stream.Sum("sum", stream.Field("value"))).KeepRows(1000)
	chain := source("left").Deduplicate("key").Select("key", "value").
		Join(source("right").Filter(stream.Field("part").Eq(3)).Select("key", "part"), stream.Same("key"), stream.Within{Before: time.Second, After: time.Second}).
		GroupBy("key").Window(stream.Session(time.Second)).Agg(stream.Count("n")).KeepRows(1000)
	var running []*stream.Running
	for _, q := range []*stream.Query{windows, chain} {
		r, err := q.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, r)
	}
	least, most := int64(1<<62), int64(0)
	for quarter := 1; quarter <= 4; quarter++ {
		time.Sleep(length / 40)
		size := resident(t, length/4-length/40)
		least, most = min(least, size), max(most, size)
		for _, r := range running {
			totals := r.Totals()
			t.Logf("%v: %d MiB resident, %d records, %d rows, %d late, state %d MiB", length/4*time.Duration(quarter), size>>20, totals.Records,
				totals.Rows, totals.Late, totals.Bytes>>20)
		}
	}
	for _, r := range running {
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if float64(most) > 1.05*float64(least) {
		t.Errorf("between %d and %d MiB resident: want 5 %% at most", least>>20, most>>20)
	}
}

// resident is the process's resident memory, the mean of looks a second apart: it goes up and down by half with the windows, which close at once
// for 200,000 keys, and with how far one partition happens to be ahead of the other. The means of sixteen looks a quarter differed by 22 %, those of one a second by 4 %.
func resident(t *testing.T, over time.Duration) (mean int64) {
	var sum, looks int64
	for end := time.Now().Add(over); time.Now().Before(end); looks++ {
		time.Sleep(min(time.Second, over/16))
		debug.FreeOSMemory() // takes its time too, while the queries go on
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Skip("no /proc on this system")
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += kib << 10
	}
	return sum / looks
}
