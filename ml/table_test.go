package ml

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/runtime/table"
)

const penguins = `island,sex,length,mass,match,w,species
Torgersen,male,39.1,3750,1,1,Adelie
Dream,female,45.2,,1,2,Chinstrap
Biscoe,male,48.7,5700,2,1,Gentoo
Dream,,36.5,3150,2,1,Adelie
`

// file writes a file of a test.
func file(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenCSV(t *testing.T) {
	r := Roles{Label: "species", Group: "match", Weight: "w", OneHot: []string{"island"}, Ordinal: []string{"sex"}, Missing: true}
	d, err := OpenCSV(file(t, penguins), r)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"island_Biscoe", "island_Dream", "island_Torgersen", "sex", "length", "mass"}; !slices.Equal(d.Features, want) {
		t.Errorf("features: got %q, want %q", d.Features, want)
	}
	if !slices.Equal(d.Classes, []string{"Adelie", "Chinstrap", "Gentoo"}) || !slices.Equal(d.Labels, []int{0, 1, 2, 0}) {
		t.Errorf("labels: got %v of %q", d.Labels, d.Classes)
	}
	if !slices.Equal(d.Groups, []int64{1, 1, 2, 2}) || !slices.Equal(d.Weights, []float64{1, 2, 1, 1}) {
		t.Errorf("groups %v, weights %v", d.Groups, d.Weights)
	}
	nan := math.NaN()
	for i, want := range [][]float64{{0, 0, 1, 1, 39.1, 3750}, {0, 1, 0, 0, 45.2, nan}, {1, 0, 0, 1, 48.7, 5700}, {0, 1, 0, nan, 36.5, 3150}} {
		for k, v := range want {
			if got := d.At(i, k); got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Errorf("row %d, %s: got %v, want %v", i, d.Features[k], got, v)
			}
		}
	}
}

// TestReadCSV: what is read from anywhere is what is read from a file, a spreadsheet's mark or not.
func TestReadCSV(t *testing.T) {
	r := Roles{Label: "species", Group: "match", OneHot: []string{"island", "sex"}, Missing: true}
	want, err := OpenCSV(file(t, penguins), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{penguins, byteOrderMark + penguins} {
		got, err := ReadCSV(strings.NewReader(text), r)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	for _, text := range []string{"", "a,b\n1\n", "a\n\"x"} {
		if d, err := ReadCSV(strings.NewReader(text), Roles{}); err == nil {
			t.Errorf("%q: got %v", text, d)
		}
	}
}

// FuzzReadCSV: whatever stands in a file and in its roles, there is a valid dataset or an error.
func FuzzReadCSV(f *testing.F) {
	f.Add(penguins, "species", "island", "sex", "match", true)
	f.Add("a,b\n1,x\n2,\n", "b", "", "a", "", false)
	f.Add("a\n1e400\nNaN\n-0\n", "", "a", "", "a", true)
	f.Fuzz(func(t *testing.T, text, label, oneHot, ordinal, group string, missing bool) {
		r := Roles{Label: label, Group: group, Missing: missing}
		if oneHot != "" {
			r.OneHot = []string{oneHot}
		}
		if ordinal != "" {
			r.Ordinal = []string{ordinal}
		}
		d, err := ReadCSV(strings.NewReader(text), r)
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Errorf("an invalid dataset: %v", err)
		}
		if d.Groups != nil && len(d.Groups) != d.Rows() || label != "" && len(d.Labels) != d.Rows() {
			t.Errorf("%d groups and %d labels of %d rows", len(d.Groups), len(d.Labels), d.Rows())
		}
	})
}

// TestLearnedRoles: rows to predict have the features of those that were learned from, whatever values they have themselves.
func TestLearnedRoles(t *testing.T) {
	train, err := table.ReadCSV(file(t, penguins))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Roles{Label: "species", Drop: []string{"match", "w", "sex", "mass"}, OneHot: []string{"island"}}.Learn(train)
	if err != nil {
		t.Fatal(err)
	}
	want, err := FromTable(train, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Unlabelled, r.Drop = true, nil
	d, err := OpenCSV(file(t, "extra,length,island\n7,40,Dream\n"), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ValidateFor(want.Features); err != nil || d.Labels != nil || !slices.Equal(d.Classes, want.Classes) || d.At(0, 1) != 1 || d.At(0, 3) != 40 {
		t.Errorf("got %v of %q, %v", d.Values, d.Features, err)
	}
	if _, err := OpenCSV(file(t, "length,island\n40,Java\n"), r); err == nil || !strings.Contains(err.Error(), `"island" has "Java" in row 0`) {
		t.Errorf("an unknown value: got %v", err)
	}
}

// TestFromTableRefuses: each error names the place and what to do.
func TestFromTableRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, csv string
		roles     Roles
		want      []string
	}{
		{"text", "a,b\n1,x\n", Roles{}, []string{`column "b" holds text, "x" in row 0`, "OneHot", "Ordinal", "Drop"}},
		{"text among numbers", "a\n1\nx\n", Roles{}, []string{`"x" in row 1`}},
		{"missing", "a,b\n1,2\n3,\n", Roles{}, []string{`column "b" has no value in row 1`, "Missing"}},
		{"missing word", "a\n1\nNA\n", Roles{}, []string{`column "a" has no value in row 1`}},
		{"missing text", "a,b\n1,x\n2,\n", Roles{OneHot: []string{"b"}}, []string{`column "b" has no value in row 1`}},
		{"missing label", "a,b\n1,x\n2,\n", Roles{Label: "b"}, []string{`label of row 1, column "b", is ""`}},
		{"other label", "a,b\n1,x\n", Roles{Label: "b", Classes: []string{"y"}}, []string{`is "x", which is none of the classes ["y"]`}},
		{"missing target", "a,b\n1,2\n2,\n", Roles{Target: "b", Missing: true}, []string{`column "b" has no value in row 1`}},
		{"missing group", "a,b\n1,x\n2,\n", Roles{Group: "b"}, []string{"no group in row 1"}},
		{"no such label", "a\n1\n", Roles{Label: "b"}, []string{`no column "b" for Label; the table has a`}},
		{"no such text", "a\n1\n", Roles{OneHot: []string{"b"}}, []string{`no column "b" for OneHot`}},
		{"no such feature", "a\n1\n", Roles{Features: []string{"b"}}, []string{`no column "b" for Features`}},
		{"two roles", "a,b\n1,2\n", Roles{Label: "b", Drop: []string{"b"}}, []string{`"b" is both Label and Drop`}},
		{"both encodings", "a,b\n1,2\n", Roles{OneHot: []string{"b"}, Ordinal: []string{"b"}}, []string{"twice"}},
		{"encoding of a label", "a,b\n1,2\n", Roles{Label: "b", OneHot: []string{"b"}}, []string{"no feature"}},
		{"nothing left", "a\n1\n", Roles{Target: "a"}, []string{"no column is left"}},
		{"infinite", "a\n1\n+Inf\n", Roles{Missing: true}, []string{`"a" of row 1 is +Inf`}},
		{"features of one name", "a,a_x\nx,1\n", Roles{OneHot: []string{"a"}}, []string{`both named "a_x"`}},
	} {
		_, err := OpenCSV(file(t, tt.csv), tt.roles)
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not say %q", tt.name, err, part)
			}
		}
	}
	var long strings.Builder
	long.WriteString("a\n")
	for i := range mostValues + 1 {
		long.WriteString("x" + strings.Repeat("y", i%7) + string(rune('a'+i%26)) + strings.Repeat("z", i/26) + "\n")
	}
	if _, err := OpenCSV(file(t, long.String()), Roles{OneHot: []string{"a"}}); err == nil || !strings.Contains(err.Error(), "take Ordinal") {
		t.Errorf("many values: got %v", err)
	}
}

// TestClassOrder: numbers stand by value, text by letters, or in the order that is given.
func TestClassOrder(t *testing.T) {
	for _, tt := range []struct {
		csv   string
		given []string
		want  []string
	}{
		{"a,y\n1,10\n2,9\n", nil, []string{"9", "10"}},
		{"a,y\n1,x10\n2,x9\n", nil, []string{"x10", "x9"}},
		{"a,y\n1,true\n2,false\n", nil, []string{"false", "true"}},
		{"a,y\n1,away\n2,home\n", []string{"home", "draw", "away"}, []string{"home", "draw", "away"}},
	} {
		d, err := OpenCSV(file(t, tt.csv), Roles{Label: "y", Classes: tt.given})
		if err != nil || !slices.Equal(d.Classes, tt.want) {
			t.Errorf("%q: got %q, %v", tt.csv, d.Classes, err)
		}
	}
}

// TestGroups: whole numbers are themselves, names are numbered.
func TestGroups(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		want  []int64
	}{{[]string{"9007199254740993", "-1"}, []int64{9007199254740993, -1}}, {[]string{"7", "x", "7"}, []int64{0, 1, 0}}, {[]string{"7", "007"}, []int64{0, 1}}} {
		if got, err := groups("g", tt.texts); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v, %v", tt.texts, got, err)
		}
	}
}

type place struct{ X, Y float64 }

type shot struct {
	place
	Kicked   time.Time
	Foot     string `ml:"onehot"`
	Pressure *int   `ml:"pressure"`
	Goal     bool   `ml:"label"`
	Match    int64  `ml:"match_id,group"`
	Note     func() `ml:"-"`
	hidden   int
}

func TestFromStructs(t *testing.T) {
	three := 3
	shots := []*shot{
		{place: place{1, 2}, Kicked: time.Unix(5, 0), Foot: "left", Pressure: &three, Goal: true, Match: 9007199254740993},
		{place: place{3, 4}, Kicked: time.Unix(6, 5e8), Foot: "right", Match: 8, hidden: 1},
	}
	if _, err := FromStructs(shots, Roles{}); err == nil || !strings.Contains(err.Error(), `"pressure" has no value in row 1`) {
		t.Errorf("a nil: got %v", err)
	}
	d, err := FromStructs(shots, Roles{Missing: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"X", "Y", "Kicked", "Foot_left", "Foot_right", "pressure"}; !slices.Equal(d.Features, want) {
		t.Errorf("features: got %q, want %q", d.Features, want)
	}
	if !slices.Equal(d.Row(0), []float32{1, 2, 5, 1, 0, 3}) || !slices.Equal(d.Row(1)[:5], []float32{3, 4, 6.5, 0, 1}) || d.Row(1)[5] == d.Row(1)[5] {
		t.Errorf("values: got %v", d.Values)
	}
	if !slices.Equal(d.Groups, []int64{9007199254740993, 8}) || !slices.Equal(d.Labels, []int{1, 0}) || !slices.Equal(d.Classes, []string{"false", "true"}) {
		t.Errorf("groups %v, labels %v of %q", d.Groups, d.Labels, d.Classes)
	}
	d, err = FromStructs(shots, Roles{Target: "X", Label: "Foot", OneHot: []string{}, Drop: []string{"pressure"}})
	if err != nil || !slices.Equal(d.Targets, []float64{1, 3}) || !slices.Equal(d.Features, []string{"Y", "Kicked", "Goal"}) {
		t.Errorf("other roles: got %v, %v", d, err)
	}
	for name, rows := range map[string]any{
		"no slice": 3, "no structs": []int{1}, "nil": []*shot{nil}, "no column": []struct{ A []int }{{nil}}, "text": []struct{ A string }{{"x"}},
		"embedded pointer": []struct{ *Place }{{}}, "none": nil,
	} {
		if d, err := FromStructs(rows, Roles{}); err == nil {
			t.Errorf("%s: no error, %v", name, d)
		}
	}
}

// Place is embedded by pointer.
type Place struct{ X float64 }
