package stream_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// nobody handles no records.
type nobody struct{}

func (nobody) Record(context.Context, *Record) (time.Time, string)                 { return time.Time{}, "" }
func (nobody) Flush(context.Context, func(at time.Time, row ...Value) error) error { return nil }
func (nobody) Save(dst []byte) ([]byte, error)                                     { return dst, nil }
func (nobody) Load([]byte) error                                                   { return nil }

// TestReadOtherwise: settings by which records, or what is kept of them, mean another thing are part of what a checkpoint knows of a plan, in words. Each row
// has two settings; a plan is the same as one that is made again.
func TestReadOtherwise(t *testing.T) {
	source := Memory("shops", [][]Record{events(1, 0, 9)})
	as := func(f Format) *Query { return From(source).Format(f) }
	column := func(kind Kind) Column { return Column{Name: "total", Kind: kind} }
	table := func(columns ...Column) *Query {
		return From(source).Lookup(TableOf("goods", NewRows(columns...), "sku"), Same("sku"))
	}
	process := func(kind Kind) *Query {
		return From(source).Process(Processing{Name: "sum", Keys: []string{"shop"}, Columns: []Column{column(kind)}, TimeToLive: time.Hour,
			State: func() any { return new(int) }, Row: func(*Context, any, Row) error { return nil }})
	}
	records := func(kind Kind) *Query {
		return From(source).ProcessRecords(RecordProcessing{Name: "score", Columns: []Column{column(kind)}, New: func() RecordHandler { return nobody{} }})
	}
	sku := Column{Name: "sku", Kind: Text}
	for name, test := range map[string]struct {
		a, b *Query
		says string
	}{
		"a table's columns":         {table(sku), table(sku, column(Int)), "(sku: a text, total: an integer)"},
		"kinds of a table":          {table(sku, column(Int)), table(sku, column(Float)), "total: a number)"},
		"kinds of a process":        {process(Int), process(Float), "sum by shop → total, kept 1h0m0s (total: a number)"},
		"kinds of a record process": {records(Int), records(Text), "score → total (total: a text)"},
		"separator":                 {as(CSVFormat("a", "b")), as(CSVFormat("a", "b").Separator(';')), "CSV of a, b, parted by ';'"},
		"texts as numbers":          {as(JSONFormat()), as(JSONFormat().TextNumbers()), "JSON, numbers in texts too"},
		"beside an envelope":        {as(JSONFormat().Envelope("event")), as(JSONFormat().Envelope("event", "meta", "key")), "envelope event beside meta and key"},
	} {
		a, b := test.a.Plan().Same(), test.b.Plan().Same()
		if slices.Equal(a, b) || !strings.Contains(strings.Join(b, "\n"), test.says) {
			t.Errorf("%s: got\n%q\n%q, want them to differ by %q", name, a, b, test.says)
		}
		if again := test.b.Plan().Same(); !slices.Equal(again, b) {
			t.Errorf("%s: got %q at first, and then %q", name, b, again)
		}
	}
	if a, b := process(0).Plan().Same(), process(Any).Plan().Same(); !slices.Equal(a, b) {
		t.Errorf("a column without a kind, and one of any: got %q and %q", a, b)
	}
	if text := process(Int).Explain().String(); strings.Contains(text, "an integer") {
		t.Errorf("Explain has the kinds, too: %s", text)
	}
}

// TestTableOfOtherColumns: what a snapshot keeps of rows that a table was looked up for means another thing with other columns.
func TestTableOfOtherColumns(t *testing.T) {
	place := checkpoint.Folder(t.TempDir())
	source := Memory("shops", [][]Record{events(1, 0, 90)}).Follow()
	query := func(kind Kind) *Query {
		return From(source).Lookup(TableOf("goods", NewRows(Column{Name: "shop", Kind: Int}, Column{Name: "city", Kind: kind}), "shop"), Same("shop")).
			Select("shop", "city").Checkpoint(place)
	}
	if err := start(t, query(Text)).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := query(Int).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "- inner lookup in goods on shop (shop: an integer, city: a text)") ||
		!strings.Contains(err.Error(), "+ inner lookup in goods on shop (shop: an integer, city: an integer)") {
		t.Errorf("got %v, want both tables", err)
	}
	if err := start(t, query(Text)).Stop(t.Context()); err != nil {
		t.Errorf("the same table: %v", err)
	}
}

// TestSharedOrNot: a checkpoint that has each partition by itself is nothing to a query that has them all, nor the other way round: it would begin anew, without a
// word.
func TestSharedOrNot(t *testing.T) {
	source := Memory("shops", [][]Record{events(1, 0, 90), events(2, 0, 90)})
	for _, test := range []struct {
		first, second Source
		says          string
	}{
		{source, group{source}, "all partitions together"},
		{group{source}, source, "partition 0 shops by itself"},
	} {
		place := checkpoint.Folder(t.TempDir())
		finish(t, counting(test.first).Checkpoint(place))
		r, err := counting(test.second).Checkpoint(place).Start(t.Context())
		if err == nil {
			err = r.Wait(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "give another place to begin anew") {
			t.Errorf("got %v, want %q", err, test.says)
		}
	}
}
