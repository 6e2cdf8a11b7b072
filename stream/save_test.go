package stream_test

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// left is a state that begins with something, which rows take out.
type left struct {
	Names map[string]bool
	N     int `json:",omitempty"`
}

// taking is a process in whose state each row takes something out.
func taking() Processing {
	return Processing{Name: "taking", TimeToLive: time.Hour, Keys: []string{"shop"}, Columns: []Column{{Name: "left", Kind: Int}, {Name: "n", Kind: Int}},
		State: func() any { return &left{map[string]bool{"a": true, "b": true}, 2} },
		Row: func(c *Context, state any, _ Row) error {
			s := state.(*left)
			delete(s.Names, []string{"a", "b"}[s.N%2])
			s.N = max(0, s.N-1)
			return c.Emit(len(s.Names), s.N)
		}}
}

func shops(n int) *Query {
	return From(Memory("shops", [][]Record{events(1, 0, n)})).EventTime(Field("at").AsTime())
}

// TestStateTakenOut: what rows have taken out of a state stays out when a query goes on.
func TestStateTakenOut(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		r := finish(t, shops(6).Process(taking()).Checkpoint(checkpoint.Folder(dir)).MaxRecords(3))
		for i, rows := 0, r.Results(); i < rows.Len()-1; i++ { // the last one is of the first record
			if rows.Row(i).Int("left") != 0 || rows.Row(i).Int("n") != 0 {
				t.Errorf("row %d: %d are left, n %d, want none", i, rows.Row(i).Int("left"), rows.Row(i).Int("n"))
			}
		}
	}
}

// peak is a state that JSON cannot write before it has a row.
type peak struct{ Max, Last float64 }

// TestUnsavable: a state that cannot be saved ends the query and leaves no snapshot, so that a corrected program goes on from the one before. So does one whose
// method panics.
func TestUnsavable(t *testing.T) {
	dir := t.TempDir()
	query := func(bad float64) *Query {
		return shops(6).Checkpoint(checkpoint.Folder(dir)).MaxRecords(3).
			Process(Processing{Name: "peak", TimeToLive: time.Hour, Keys: []string{"shop"}, Columns: []Column{{Name: "max", Kind: Float}},
				State: func() any { return &peak{} },
				Row: func(c *Context, state any, _ Row) error {
					s := state.(*peak)
					s.Max, s.Last = s.Max+1, bad
					return c.Emit(s.Max)
				}})
	}
	lives := func(q *Query) error {
		r, err := q.Start(t.Context())
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return r.Wait(ctx)
	}
	if err := lives(query(math.Inf(1))); err == nil || !strings.Contains(err.Error(), "unsupported value") {
		t.Errorf("a state with an infinite number: %v", err)
	}
	r := finish(t, query(1))
	if rows := r.Results(); rows.Len() != 3 || rows.Row(2).Float("max") != 3 {
		t.Errorf("the corrected program has %v, want three rows from the beginning", rows)
	}
}

// wild is a state whose method panics.
type wild struct{}

func (*wild) MarshalBinary() ([]byte, error) { panic("boom") }
func (*wild) UnmarshalBinary([]byte) error   { return nil }

// TestSavePanics: a panic of a state's method is an error of the query, and the program lives.
func TestSavePanics(t *testing.T) {
	q := shops(3).Checkpoint(checkpoint.Folder(t.TempDir())).MaxRecords(2).
		Process(Processing{Name: "wild", TimeToLive: time.Hour, Keys: []string{"shop"}, Columns: []Column{{Name: "n", Kind: Int}},
			State: func() any { return &wild{} }, Row: func(c *Context, _ any, _ Row) error { return c.Emit(1) }})
	r, err := q.Start(t.Context())
	if err == nil {
		err = r.Wait(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
}

// named is a process that knows its partition by the first record, and tells where it is restored.
type named struct {
	name     string
	noted    bool
	restored *[]string
}

func (n *named) Record(_ context.Context, r *Record) (time.Time, string) {
	n.name = string(r.Value)
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), ""
}

func (n *named) Flush(_ context.Context, _ func(time.Time, ...Value) error) error { return nil }

func (n *named) Changes(changed, _ func(string)) {
	if n.name != "" && !n.noted {
		n.noted = true
		changed("name")
	}
}

func (n *named) Save(dst []byte, _ string) []byte { return append(dst, n.name...) }

func (n *named) Load(_ string, saved []byte) error {
	*n.restored = append(*n.restored, string(saved))
	return nil
}

// TestPartitionsAreRestoredInOneOrder: what processes of several partitions share is restored the same way each time.
func TestPartitionsAreRestoredInOneOrder(t *testing.T) {
	records, place := make([][]Record, 9), checkpoint.Folder(t.TempDir())
	for p := range records {
		records[p] = []Record{{Value: []byte(strconv.Itoa(p))}}
	}
	for again := range 3 {
		var restored []string
		run(t, From(Memory("names", records)).ProcessRecords(RecordProcessing{Name: "name", Columns: []Column{{Name: "n", Kind: Int}},
			New: func() RecordHandler { return &named{restored: &restored} }}).Checkpoint(place))
		if got := strings.Join(restored, ""); again > 0 && got != "012345678" {
			t.Errorf("restored in the order %s", got)
		}
	}
}
