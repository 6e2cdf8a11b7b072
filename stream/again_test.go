package stream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// keyed is a record of a key at a second after three o'clock.
func keyed(key string, second float64) Record {
	at := threeOClock.Add(time.Duration(second * float64(time.Second)))
	return Record{Value: fmt.Appendf(nil, `{"k":%q,"at":%q}`, key, at.Format(time.RFC3339Nano))}
}

// TestTimersOfForgottenKeys: the timer that a forgotten key has left calls no other key, however often the query goes on. The keys that stay are so large that
// the snapshot with the timer is needed for long.
func TestTimersOfForgottenKeys(t *testing.T) {
	const large = 400
	due, hour := time.Now().Add(time.Second), time.Hour.Seconds()
	var all []Record
	for i := range large {
		all = append(all, keyed(fmt.Sprint("stays", i, strings.Repeat(".", 2000)), 0))
	}
	all = append(all, keyed("forgotten", 0), keyed("", hour), keyed("new", hour+1), keyed("newer", hour+2), keyed("", hour+3))
	waking := Processing{Name: "waking", TimeToLive: time.Minute, Keys: []string{"k"}, Columns: []Column{{Name: "k", Kind: Text}},
		State: func() any { return &struct{ N int }{} },
		Row: func(c *Context, _ any, _ Row) error {
			switch key := c.Key()[0].Text(); {
			case key == "forgotten":
				c.SetClock(due)
			case strings.HasPrefix(key, "stays"):
				c.SetTimer(threeOClock.Add(100 * time.Hour))
			}
			return nil
		},
		Timer: func(c *Context, _ any, _ time.Time) error { return c.Emit(c.Key()[0].Text()) }}
	dir := t.TempDir()
	for _, portion := range []int64{large + 2, 1, 1} {
		q := From(Memory("t", [][]Record{all})).EventTime(Field("at").AsTime()).Watermark(0).Filter(Field("k").Ne("")).Process(waking)
		none := SinkFunc(func(_ int64, rows *Rows) error { return fmt.Errorf("a timer has called %v", rows) })
		finish(t, q.Checkpoint(checkpoint.Folder(dir)).To(none).MaxRecords(portion))
		if portion == 1 {
			time.Sleep(time.Until(due)) // the clock is the machine's
		}
	}
}

// TestOwnersOfClosedGroups: a group that its partition has closed by the time of a snapshot still belongs to that partition when the query goes on. A record of it
// in another partition, for which that window is open, would be given out as a second row of the same group.
func TestOwnersOfClosedGroups(t *testing.T) {
	first := [][]Record{{keyed("moved", 0), keyed("x", 100)}, {keyed("y", 1)}}
	all := [][]Record{append(first[0], keyed("x", 200)), append(first[1], keyed("moved", 5), keyed("y", 200))}
	var lines []string
	dir := t.TempDir()
	query := func(source *MemorySource) *Query {
		sink := SinkFunc(func(_ int64, rows *Rows) error {
			for i := range rows.Len() {
				lines = append(lines, string(rows.AppendJSON(nil, i)))
			}
			return nil
		})
		return From(source).EventTime(Field("at").AsTime()).Watermark(0).IdleAfter(time.Hour).KeyedBy("k").GroupBy("k").Window(Tumbling(10*time.Second)).
			Agg(Count("n")).Select("k", "n").Checkpoint(checkpoint.Folder(dir)).To(sink)
	}
	before := start(t, query(Memory("t", first).Follow()))
	for before.Totals().Records < 3 {
		time.Sleep(time.Millisecond)
	}
	if err := before.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := finish(t, query(Memory("t", all)))
	slices.Sort(lines)
	want := []string{`{"k":"moved","n":1}`, `{"k":"x","n":1}`, `{"k":"x","n":1}`, `{"k":"y","n":1}`, `{"k":"y","n":1}`}
	if bad := after.Totals().Bad; !slices.Equal(lines, want) || bad != 1 {
		t.Errorf("got %q and %d bad records, want %q and one", lines, bad, want)
	}
}
