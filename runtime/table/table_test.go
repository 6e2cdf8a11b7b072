package table

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

type side struct{ Team string }

type shot struct {
	side
	Minute  int     `json:"minute"`
	XG      float64 `table:"xg" json:"expected"`
	Goal    bool
	Body    *string
	private int
	Skipped int `table:"-"`
}

type foot int

func (f foot) String() string { return [...]string{"left", "right"}[f] }

func shots() []shot {
	head := "head"
	return []shot{
		{side{"B"}, 12, 0.25, false, nil, 1, 1},
		{side{"A"}, 9, 0.0625, true, &head, 1, 1},
		{side{"B"}, 90, math.NaN(), false, nil, 1, 1},
	}
}

func of(t *testing.T, rows any) *Table {
	t.Helper()
	table, err := Of(rows)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// describe writes a table's columns, types and rows for comparison.
func describe(t *Table) string {
	text := fmt.Sprint(t.Columns(), t.Types())
	for i := range t.Len() {
		text += "\n"
		for k, name := range t.Columns() {
			if k > 0 {
				text += " "
			}
			text += fmt.Sprint(t.Value(i, name))
		}
	}
	return text
}

func TestOf(t *testing.T) {
	interpreted := reflect.StructOf([]reflect.StructField{
		{Name: "Xminute", Type: reflect.TypeFor[int]()}, {Name: "XG", Type: reflect.TypeFor[float64]()},
	})
	rows := reflect.MakeSlice(reflect.SliceOf(interpreted), 1, 1)
	rows.Index(0).Field(0).SetInt(7)
	s := shots()
	for _, c := range []struct {
		name string
		rows any
		want string
	}{
		{"structs", s, "[Team minute xg Goal Body] [string int float bool string]\nB 12 0.25 false <nil>\nA 9 0.0625 true head\nB 90 NaN false <nil>"},
		{"pointers", []*shot{&s[1], nil}, "[Team minute xg Goal Body] [string int float bool string]\nA 9 0.0625 true head\n<nil> <nil> <nil> <nil> <nil>"},
		{"no rows", []shot{}, "[Team minute xg Goal Body] [string int float bool string]"},
		{"array", [1]shot{{Minute: 1}}, "[Team minute xg Goal Body] [string int float bool string]\n 1 0 false <nil>"},
		{"interpreter's structs", rows.Interface(), "[minute XG] [int float]\n7 0"},
		{"maps", []map[string]any{{"b": 1, "a": "x"}, {"b": 2.5}}, "[a b] [string float]\nx 1\n<nil> 2.5"},
		{"map", map[int]string{10: "x", 9: "y"}, "[key value] [int string]\n9 y\n10 x"},
		{"map of structs", map[string]side{"k": {"A"}}, "[key Team] [string string]\nk A"},
		{"records", [][]string{{"a", "b"}, {"1", "x"}, {"2", ""}}, "[a b] [int string]\n1 x\n2 "},
		{"floats", []float64{1, 2.5}, "[value] [float]\n1\n2.5"},
		{"mixture", []any{1, "x", nil}, "[value] [any]\n1\nx\n<nil>"},
		{"stringers", []foot{1, 0}, "[value] [any]\nright\nleft"},
		{"times", []time.Time{time.Unix(0, 0).UTC()}, "[value] [time]\n1970-01-01 00:00:00 +0000 UTC"},
		{"float32", []float32{0.1}, "[value] [float]\n0.1"},
		{"large unsigned", []uint64{math.MaxUint64}, "[value] [any]\n18446744073709551615"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describe(of(t, c.rows)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		rows any
		want string
	}{
		{42, "table: a int is no rows"},
		{nil, "table: a <nil> is no rows"},
		{[][]string{}, "table: the first row must name the columns"},
		{[][]string{{"a", "a"}}, `table: two columns are named "a"`},
		{[][]string{{"a"}, {"1", "2"}}, "table: row 1 has 2 values where the header names 1"},
	} {
		if _, err := Of(c.rows); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s…", c.rows, err, c.want)
		}
	}
}

func TestColumn(t *testing.T) {
	table := of(t, shots())
	xg, err := table.Column("xg")
	if err != nil || xg[0] != 0.25 || xg[1] != 0.0625 || !math.IsNaN(xg[2]) {
		t.Errorf("xg: got %v, %v", xg, err)
	}
	goals, err := table.Column("Goal")
	if err != nil || fmt.Sprint(goals) != "[0 1 0]" {
		t.Errorf("Goal: got %v, %v", goals, err)
	}
	waits, err := of(t, []time.Duration{time.Minute}).Column("value")
	if err != nil || waits[0] != 60 {
		t.Errorf("durations: got %v, %v", waits, err)
	}
	if _, err := table.Column("Team"); err == nil || !strings.Contains(err.Error(), `"Team" holds string`) {
		t.Errorf("text: got %v", err)
	}
	if _, err := table.Column("xG"); err == nil || !strings.Contains(err.Error(), "there are Team, minute, xg") {
		t.Errorf("no such column: got %v", err)
	}
	xg[0] = 9
	if table.Value(0, "xg") != 0.25 {
		t.Error("Column gave away the table's own memory")
	}
	if teams, err := table.Strings("Team"); err != nil || fmt.Sprint(teams) != "[B A B]" {
		t.Errorf("Strings: got %v, %v", teams, err)
	}
	if got := table.Row(1)["minute"]; got != int64(9) {
		t.Errorf("Row: got %v", got)
	}
}

func TestSortAndFilter(t *testing.T) {
	table := of(t, shots())
	for _, c := range []struct {
		column     string
		descending bool
		want       string
	}{
		{"minute", false, "[9 12 90]"},
		{"minute", true, "[90 12 9]"},
		{"xg", false, "[9 12 90]"},
		{"xg", true, "[12 9 90]"}, // NaN stands last either way
		{"Team", false, "[9 12 90]"},
		{"Body", false, "[9 12 90]"},
		{"Goal", true, "[9 12 90]"},
	} {
		sorted, err := table.Sort(c.column, c.descending)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := sorted.Column("minute"); fmt.Sprint(got) != c.want {
			t.Errorf("by %s, descending %v: got %v, want %s", c.column, c.descending, got, c.want)
		}
	}
	if _, err := table.Sort("x", false); err == nil {
		t.Error("sorted by no column")
	}
	late := table.Filter(func(row int) bool { return table.Value(row, "minute").(int64) > 10 })
	if got := late.Len(); got != 2 || late.Value(1, "minute") != int64(90) {
		t.Errorf("filter: got %d rows, %s", got, describe(late))
	}
	if got, err := table.Select("xg", "Team"); err != nil || fmt.Sprint(got.Columns()) != "[xg Team]" {
		t.Errorf("select: got %v, %v", got, err)
	}
	if got := of(t, []time.Duration{9 * time.Second, 10 * time.Second}); true {
		if s, _ := got.Sort("value", true); s.Value(0, "value") != 10*time.Second {
			t.Error("durations are sorted as text")
		}
	}
}

func TestHeadAndTail(t *testing.T) {
	numbers := make([]int, 200_000)
	for i := range numbers {
		numbers[i] = i
	}
	table := of(t, numbers)
	for _, c := range []struct {
		name        string
		t           *Table
		first, last any
		caption     string
	}{
		{"head", table.Head(5), int64(0), int64(4), "5 of 200,000 rows × 1"},
		{"tail", table.Tail(3), int64(199_997), int64(199_999), "3 of 200,000 rows × 1"},
		{"head of tail", table.Tail(3).Head(1), int64(199_997), int64(199_997), "1 of 200,000 rows × 1"},
		{"none", table.Head(-1), nil, nil, "0 of 200,000 rows × 1"},
		{"all", table, int64(0), int64(199_999), "10 of 200,000 rows × 1"},
	} {
		if n := c.t.Len(); (n > 0) != (c.first != nil) {
			t.Errorf("%s: %d rows", c.name, n)
		} else if n > 0 && (c.t.Value(0, "value") != c.first || c.t.Value(n-1, "value") != c.last) {
			t.Errorf("%s: from %v to %v, want %v to %v", c.name, c.t.Value(0, "value"), c.t.Value(n-1, "value"), c.first, c.last)
		}
		if got := c.t.String(); !strings.HasSuffix(got, "\n"+c.caption) {
			t.Errorf("%s: got %q, want caption %s", c.name, got, c.caption)
		}
	}
}

// The expected figures are numpy's for [1, 2, 4, 8]: mean, std(ddof=1), quantiles.
func TestDescribe(t *testing.T) {
	d := of(t, []struct {
		N *int
		S string
	}{{new(1), "a"}, {new(2), "b"}, {nil, "c"}, {new(4), "d"}, {new(8), "e"}}).Describe()
	want := map[string]any{"column": "N", "count": int64(4), "missing": int64(1), "mean": 3.75, "sd": 3.095695936834452,
		"min": 1.0, "p25": 1.75, "p50": 3.0, "p75": 5.0, "max": 8.0}
	if got := d.Row(0); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := d.Row(1); got["count"] != int64(5) || got["mean"] != nil {
		t.Errorf("text: got %v", got)
	}
	if got := of(t, []float64{1e9 + 1, 1e9 + 2, 1e9 + 3}).Describe().Value(0, "sd"); got != 1.0 {
		t.Errorf("sd of large numbers: got %v, want 1", got)
	}
	if got := of(t, []float64{5}).Describe().Value(0, "sd"); !math.IsNaN(got.(float64)) {
		t.Errorf("sd of one value: got %v, want NaN", got)
	}
}

func TestCSV(t *testing.T) {
	const file = "id,code,x,ok,at,note\n" +
		"1,007,0.5,true,2026-01-02T03:04:05.006Z,\"a, \"\"b\"\"\nc\"\n" +
		"2,010,,false,,\n" +
		"-3,999,1e-300,true,2026-01-02T03:04:05Z,é\n"
	path := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(path, []byte("\ufeff"+file), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := ReadCSV(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(table.Columns(), table.Types()), "[id code x ok at note] [int string float bool time string]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if table.Value(1, "x") != nil || table.Value(1, "note") != "" || table.Value(0, "code") != "007" {
		t.Errorf("got %v", table.Row(1))
	}
	out := filepath.Join(t.TempDir(), "new", "out.csv")
	if err := table.WriteCSV(out); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out); string(got) != file {
		t.Errorf("round trip: got\n%s\nwant\n%s", got, file)
	}
	if left, _ := filepath.Glob(out + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCSVKinds(t *testing.T) {
	for _, c := range []struct{ name, values, want string }{
		{"beyond 64 bits", "9223372036854775808", "string"},
		{"mixed numbers", "1 2.5", "float"},
		{"not a number", "NaN 1", "float"},
		{"hexadecimal", "0x10", "string"},
		{"a season", "2020_21 2021_22", "string"},
		{"underscores", "1_0.5 2", "string"},
		{"hexadecimal with an exponent", "0x1p-2", "string"},
		{"infinity in a word", "1 Inf", "string"},
		{"infinity as it is written", "1 +Inf -Inf", "float"},
		{"no number at all", "NaN NaN", "string"},
		{"a point at an end", "1. .5 -2.5E+3", "float"},
		{"a zero", "0 -1", "int"},
		{"small", "0.5 0e3", "float"},
		{"all missing", " ", "string"},
		{"words", "true maybe", "string"},
	} {
		records := [][]string{{"v"}}
		for _, v := range strings.Split(c.values, " ") {
			records = append(records, []string{v})
		}
		if got := of(t, records).Types()[0]; got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCSVTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "typed.csv")
	if err := os.WriteFile(path, []byte("id,x,day\n7,1,2026-01-02T03:04:05Z\n8,,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := ReadCSV(path, Types{"id": "string", "x": "float"}, Types{"day": "string"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(table.Types(), table.Row(0), table.Value(1, "x")); got != "[string float string] map[day:2026-01-02T03:04:05Z id:7 x:1] <nil>" {
		t.Errorf("got %s", got)
	}
	for _, c := range []struct {
		types Types
		want  string
	}{
		{Types{"idd": "int"}, `there is no column "idd" to have a type; there are id, x, day`},
		{Types{"id": "number"}, `column "id" cannot be of type "number": want int, float, string, bool or time`},
		{Types{"day": "bool"}, `column "day", row 1: "2026-01-02T03:04:05Z" is no bool`},
	} {
		if _, err := ReadCSV(path, c.types); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.types, err, c.want)
		}
	}
}

func TestCSVOfOneColumn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.csv")
	if err := of(t, []*int{new(1), nil, new(3)}).WriteCSV(path); err != nil {
		t.Fatal(err)
	}
	back, err := ReadCSV(path)
	if err != nil || back.Len() != 3 || back.Value(1, "value") != nil {
		t.Errorf("got %v, %v: the empty row must stay", back, err)
	}
}

func TestCSVErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.csv")
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "the first row must name the columns"},
		{"ragged", "a,b\n1\n", "line 2"},
		{"twice", "a,a\n", "two columns"},
	} {
		if err := os.WriteFile(path, []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCSV(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %s and the path", c.name, err, c.want)
		}
	}
	if _, err := ReadCSV(path + "x"); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("no file: got %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		if _, isPath := err.(*os.PathError); isPath {
			return err
		}
		err = inner.Unwrap()
	}
}

func TestText(t *testing.T) {
	want := strings.Join([]string{
		"Team  minute      xg  Goal   Body",
		"B         12  0.2500  false  –",
		"A          9  0.0625  true   head",
		"B         90     NaN  false  –",
		"3 rows × 5"}, "\n")
	if got := of(t, shots()).String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := new(Table).String(); !strings.HasSuffix(got, "0 rows × 0") {
		t.Errorf("zero table: got %q", got)
	}
}

func TestHTML(t *testing.T) {
	page := of(t, []struct{ Name string }{{"<script>alert(1)</script>"}}).MIMEBundle()["text/html"].(string)
	if strings.Contains(page, "<script") || !strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("not escaped: %s", page)
	}
	wide := map[string]any{}
	for i := range 30 {
		wide[fmt.Sprintf("c%02d", i)] = i
	}
	rows := make([]map[string]any, 12)
	for i := range rows {
		rows[i] = wide
	}
	page = of(t, rows).MIMEBundle()["text/html"].(string)
	for _, c := range []struct {
		what string
		want int
	}{{"<tr>", 1 + shownRows + 1}, {`<th scope="col"`, shownColumns}, {"text-align:right", shownColumns * 12}, {"10 of 12 rows × 30", 1}, {"<style", 0}} {
		if got := strings.Count(page, c.what); got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, got, c.want)
		}
	}
}

type squad []side

func (squad) String() string { return "eleven" }

func TestRender(t *testing.T) {
	big, wide := make([]shot, 1_000_000), map[int]string{}
	for i := range 20_000 {
		wide[i] = "x"
	}
	for _, c := range []struct {
		name string
		v    any
		want string // end of text/plain, "" is not known
	}{
		{"structs", shots(), "3 rows × 5"},
		{"only what is shown is converted", big, "10 of 1,000,000 rows × 5"},
		{"map", map[string]int{"a": 1, "b": 2}, "2 rows × 2"},
		{"large map", wide, "9  x\n…\n10 of 20,000 rows × 2"},
		{"empty map", map[string]int{}, ""},
		{"own words", squad{{"A"}}, ""},
		{"numbers", []float64{1}, ""},
		{"times", []time.Time{{}}, ""},
		{"nil", nil, ""},
		{"int", 1, ""},
	} {
		d, ok := Render(c.v)
		if ok != (c.want != "") {
			t.Errorf("%s: known %v", c.name, ok)
		}
		if ok && !strings.HasSuffix(d.Data["text/plain"].(string), c.want) {
			t.Errorf("%s: got %v, want …%s", c.name, d.Data["text/plain"], c.want)
		}
	}
}

// A table is made from any rows and prints itself.
func ExampleOf() {
	t, err := Of([]struct {
		Team string
		XG   float64
	}{{"Home", 1.25}, {"Away", 0.5}})
	fmt.Println(t, err)
	// Output:
	// Team    XG
	// Home  1.25
	// Away  0.50
	// 2 rows × 2 <nil>
}

// TestNoSuchValue: a name or a number that is mistaken is told, not taken for a missing value.
func TestNoSuchValue(t *testing.T) {
	table := of(t, []struct {
		Club string
		Goal float64
	}{{"A", 1}, {"B", 2}})
	for _, test := range []struct {
		name string
		ask  func()
		want string
	}{
		{"column", func() { table.Value(0, "clb") }, `table: no column "clb"; there are Club, Goal`},
		{"inside a filter", func() { table.Filter(func(row int) bool { return table.Value(row, "club") == "A" }) }, `table: no column "club"; there are Club, Goal`},
		{"row", func() { table.Value(2, "Club") }, "table: no row 2; there are 2, counted from 0"},
		{"row before the first", func() { table.Value(-1, "Club") }, "table: no row -1; there are 2, counted from 0"},
		{"whole row", func() { table.Row(5) }, "table: no row 5; there are 2, counted from 0"},
		{"row of none", func() { new(Table).Row(0) }, "table: no row 0; there are 0, counted from 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if err, ok := recover().(error); !ok || err.Error() != test.want {
					t.Errorf("got %v, want %s", err, test.want)
				}
			}()
			test.ask()
			t.Error("no panic")
		})
	}
}

// TestDescribeNaN: NaN is lacking, as in pandas, and a column of nothing else keeps it.
func TestDescribeNaN(t *testing.T) {
	d := of(t, []struct{ X, Y float64 }{{1, math.NaN()}, {math.NaN(), math.NaN()}, {3, math.NaN()}}).Describe()
	for i, want := range []string{"2 1 2", "0 3 <nil>"} {
		if got := fmt.Sprint(d.Value(i, "count"), d.Value(i, "missing"), d.Value(i, "mean")); got != want {
			t.Errorf("count, missing and mean of column %d: got %s, want %s", i, got, want)
		}
	}
	all := of(t, []struct{ X float64 }{{math.NaN()}})
	if x, ok := all.Value(0, "X").(float64); !ok || !math.IsNaN(x) {
		t.Errorf("got %v, want NaN", all.Value(0, "X"))
	}
}
