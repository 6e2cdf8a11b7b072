package stream_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

func TestKeepRows(t *testing.T) {
	var all []Record
	for i := range 1000 {
		all = append(all, event(7, 1, float64(i)*60))
	}
	for _, mode := range []OutputMode{Append, Update} {
		written := 0
		sink := SinkFunc(func(_ int64, rows *Rows) error { written += rows.Len(); return nil })
		rows := finish(t, counting(Memory("t", [][]Record{all})).KeepRows(10).Output(mode).To(sink)).Results()
		starts, err := rows.Times("window_start")
		if err != nil {
			t.Fatal(err)
		}
		newest := starts[9].Sub(starts[0]) == 9*time.Minute && starts[9].Equal(threeOClock.Add(999*time.Minute))
		if len(starts) != 10 || mode == Append && (rows.Total != 1000 || !newest) {
			t.Errorf("%v: got %d rows of %d, want the newest 10 of 1000", mode, len(starts), rows.Total)
		}
		if rows.Total < 1000 { // in Update a row that was forgotten before it came again counts as another one
			t.Errorf("%v: got %d rows in all, want 1000 at least", mode, rows.Total)
		}
		if written < 1000 {
			t.Errorf("%v: the sink got %d rows, want all", mode, written)
		}
	}
}

// TestForgottenRowsComeBackAlone: a row that Results has forgotten, and that changes, takes no other row's place.
func TestForgottenRowsComeBackAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{nil}).Follow()
		running := start(t, counting(source).Watermark(24*time.Hour).KeepRows(10).Output(Update))
		defer stop(t, running)
		for i := range 230 {
			source.Append(0, event(7, 1, float64(i*7%100)*60))
			synctest.Wait()
		}
		var want []string
		for i := 220; i < 230; i++ { // the ten that changed last, each for the third time
			want = append(want, fmt.Sprintf("7@%d=3", i*7%100*60))
		}
		got := strings.Fields(counts(running.Results()))
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestNamed(t *testing.T) {
	rows := finish(t, by(Memory("t", [][]Record{{event(7, 1, 0), event(7, 2, 1)}}), "shop", "city.id").With("city_id", Field("city.id"))).Results()
	named := rows.Named("city_id", func(id int64) string { return map[int64]string{1: "Cárdeno"}[id] })
	if got, err := named.Strings("city"); err != nil || !slices.Equal(got, []string{"Cárdeno", "2"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := rows.Strings("city_id"); err != nil || got[0] != "1" {
		t.Errorf("the rows have changed: %v, %v", got, err)
	}
}

func TestNamedKeepsNamesApart(t *testing.T) {
	for _, c := range []struct {
		columns []string
		named   string
		want    []string
	}{
		{[]string{"team", "team_id"}, "team_id", []string{"team", "team_id"}},
		{[]string{"team_id", "team"}, "team_id", []string{"team_id", "team"}},
		{[]string{"team_id", "teams"}, "team_id", []string{"team", "teams"}},
		{[]string{"_id"}, "_id", []string{"_id"}},
		{[]string{"n"}, "n", []string{"n"}},
	} {
		rows := NewRows()
		row := make([]Value, len(c.columns))
		for i, name := range c.columns {
			rows.Columns, row[i] = append(rows.Columns, Column{Name: name, Kind: Int}), IntOf(int64(i))
		}
		rows.Append(row...)
		named := rows.Named(c.named, func(int64) string { return "Real Cárdeno" })
		if !slices.Equal(named.Names(), c.want) {
			t.Errorf("%v: named %v, want %v", c.columns, named.Names(), c.want)
		}
		if got := named.At(0, slices.Index(c.columns, c.named)).Text(); got != "Real Cárdeno" {
			t.Errorf("%v: the key is %v", c.columns, got)
		}
	}
}

// TestNamesOfNoColumnPanic: a name that is misspelt would leave rows in the order that they had, and a list of the first ones would be wrong.
func TestNamesOfNoColumnPanic(t *testing.T) {
	for name, call := range map[string]func(r *Rows){
		"sorted":            func(r *Rows) { r.Sort("shops") },
		"sorted, second":    func(r *Rows) { r.Sort("sum", "shops") },
		"sorted, case":      func(r *Rows) { r.Sort("Shop") },
		"sorted by nothing": func(r *Rows) { r.Sort("") },
		"named":             func(r *Rows) { r.Named("shops", func(int64) string { return "" }) },
	} {
		for what, rows := range map[string]*Rows{"rows": sales(), "no rows": NewRows(sales().Columns...)} {
			before := fmt.Sprint(rows.Strings("shop"))
			if got := panics(func() { call(rows) }); !strings.Contains(got, "there is no column") || !strings.Contains(got, "there are shop, sum, city") {
				t.Errorf("%s, %s: got the panic %q, want the name and the columns that there are", name, what, got)
			}
			if after := fmt.Sprint(rows.Strings("shop")); after != before {
				t.Errorf("%s, %s: the rows have moved from %s to %s", name, what, before, after)
			}
		}
	}
}

// panics returns what f panics with, "" where it does not.
func panics(f func()) (with string) {
	defer func() {
		if r := recover(); r != nil {
			with = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// sales are rows with a value of each kind, and rows without.
func sales() *Rows {
	rows := NewRows(Column{Name: "shop", Kind: Int}, Column{Name: "sum", Kind: Float}, Column{Name: "city", Kind: Text},
		Column{Name: "at", Kind: Time}, Column{Name: "open", Kind: Bool}, Column{Name: "tags", Kind: JSON})
	rows.Append(IntOf(2), FloatOf(0.1), TextOf("Lima, \"Perú\"\n"), TimeOf(threeOClock), BoolOf(true), JSONOf(`["a"]`))
	rows.Append(IntOf(10), FloatOf(math.NaN()), Value{}, Value{}, Value{}, Value{})
	rows.Append(IntOf(1), FloatOf(1e21), TextOf("Quito"), TimeOf(threeOClock.Add(time.Nanosecond)), BoolOf(false), JSONOf(`{}`))
	return rows
}

func TestRowsAreSelectedSortedAndRead(t *testing.T) {
	rows := sales()
	only, err := rows.Select("sum", "shop")
	if err != nil || !slices.Equal(only.Names(), []string{"sum", "shop"}) || only.At(0, 1).Int() != 2 || only.Total != 3 {
		t.Errorf("got %v, %v", only, err)
	}
	if _, err := rows.Select("sum", "nothing"); err == nil || !strings.Contains(err.Error(), `no column "nothing"; there are shop, sum`) {
		t.Errorf("got %v", err)
	}
	if _, err := rows.Select("sum", "shop", "sum"); err == nil || !strings.Contains(err.Error(), `column "sum" is selected twice`) {
		t.Errorf("got %v", err)
	}
	if sums, err := rows.Column("sum"); err != nil || sums[0] != 0.1 || !math.IsNaN(sums[1]) || sums[2] != 1e21 {
		t.Errorf("got %v, %v", sums, err)
	}
	for _, of := range []func(string) error{
		func(name string) error { _, err := rows.Column(name); return err },
		func(name string) error { _, err := rows.Strings(name); return err },
		func(name string) error { _, err := rows.Times(name); return err },
	} {
		if err := of("nothing"); err == nil || !strings.Contains(err.Error(), `no column "nothing"`) {
			t.Errorf("got %v", err)
		}
	}
	if times, err := rows.Times("at"); err != nil || !times[0].Equal(threeOClock) || !times[1].IsZero() {
		t.Errorf("got %v, %v", times, err)
	}
	large := rows.Filter(func(r Row) bool { return r.Int("shop") > 1 })
	if got, err := large.Sort("city").Column("shop"); err != nil || !slices.Equal(got, []float64{10, 2}) { // absent comes first
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := rows.Sort().Column("shop"); err != nil || !slices.Equal(got, []float64{1, 2, 10}) {
		t.Errorf("got %v, %v", got, err)
	}
	if rows.Head(2).Len() != 2 || rows.Head(-1).Len() != 0 || rows.Head(99).Len() != 3 {
		t.Error("Head gives another number of rows")
	}
	if row := rows.Row(1); row.Text("city") != "Lima, \"Perú\"\n" || !row.Bool("open") || row.Float("sum") != 0.1 || !row.Time("at").Equal(threeOClock) {
		t.Errorf("got %v", row)
	}
}

func TestRowsAsCSVAndJSON(t *testing.T) {
	rows := sales()
	var b bytes.Buffer
	if err := rows.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	const csv = "shop,sum,city,at,open,tags\n2,0.1,\"Lima, \"\"Perú\"\"\n\",2026-03-01T15:00:00Z,true,\"[\"\"a\"\"]\"\n10,,,,,\n" +
		"1,1e+21,Quito,2026-03-01T15:00:00.000000001Z,false,{}\n"
	if b.String() != csv {
		t.Errorf("got\n%s\nwant\n%s", b.String(), csv)
	}
	for i, want := range []string{`{"shop":2,"sum":0.1,"city":"Lima, \"Perú\"\n","at":"2026-03-01T15:00:00Z","open":true,"tags":["a"]}`, `{"shop":10}`} {
		if got := string(rows.AppendJSON(nil, i)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestRowsShowThemselves: some of many, with how many there are, and no markup of the data.
func TestRowsShowThemselves(t *testing.T) {
	rows := NewRows(Column{Name: "name", Kind: Text}, Column{Name: "x", Kind: Float})
	for range 5000 {
		rows.Append(TextOf("<script>"), FloatOf(1.0/3))
	}
	bundle := rows.MIMEBundle()
	html, plain := bundle["text/html"].(string), bundle["text/plain"].(string)
	if strings.Contains(html, "<script") || !strings.HasPrefix(html, "<table") || !strings.Contains(plain, "of 5,000 rows") || !strings.Contains(plain, "0.33") {
		t.Errorf("got %.300s\n%.300s", html, plain)
	}
}

func TestMistakesOfTheProgramPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"a row too short":    func() { sales().Append(IntOf(1)) },
		"a column not there": func() { sales().Row(0).Int("price") },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(p.(string), "stream: ") {
					t.Errorf("%s: got %v", name, p)
				}
			}()
			f()
		}()
	}
}
