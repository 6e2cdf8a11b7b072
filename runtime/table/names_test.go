package table

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

type (
	inner  struct{ ID int }
	other  struct{ ID int }
	deep   struct{ inner }
	tagged struct {
		ID int `table:"inner_id"`
	}
	shadow struct {
		inner
		ID string
	}
	below struct {
		ID string
		inner
	}
	deeper struct {
		deep
		other
	}
	outermost struct {
		inner
		other
		ID string
	}
	same struct {
		ID int `json:"id"`
	}
	sameTag struct {
		same
		ID string `json:"id"`
	}
	kept struct {
		tagged
		ID string
	}
	dropped struct {
		inner
		ID string `table:"-"`
	}
	renamed struct {
		inner
		ID string `table:"name"`
	}
)

// TestPromotedFields: a column of an embedded struct is what Go gives for the field of its name.
func TestPromotedFields(t *testing.T) {
	for _, c := range []struct {
		name string
		rows any
		want string
	}{
		{"embedded first", []shadow{{inner{7}, "o"}}, "[ID] [string]\no"},
		{"embedded last", []below{{"o", inner{7}}}, "[ID] [string]\no"},
		{"pointers", []*shadow{{inner{7}, "o"}}, "[ID] [string]\no"},
		{"no rows", []shadow{}, "[ID] [string]"},
		{"in a map", map[string]shadow{"a": {inner{7}, "o"}}, "[key ID] [string string]\na o"},
		{"the less deep", []deeper{{deep{inner{7}}, other{8}}}, "[ID] [int]\n8"},
		{"above two that are ambiguous", []outermost{{inner{7}, other{8}, "o"}}, "[ID] [string]\no"},
		{"with one tag", []sameTag{{same{7}, "o"}}, "[id] [string]\no"},
		{"with a tag of its own", []kept{{tagged{7}, "o"}}, "[inner_id ID] [int string]\n7 o"},
		{"below one that is left out", []dropped{{inner{7}, "o"}}, "[ID] [int]\n7"},
		{"below one that is renamed", []renamed{{inner{7}, "o"}}, "[ID name] [int string]\n7 o"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := of(t, c.rows)
			if got := describe(table); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			path := filepath.Join(t.TempDir(), "t.csv")
			if err := table.WriteCSV(path); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadCSV(path); err != nil {
				t.Errorf("its own file: %v", err)
			}
		})
	}
}

// TestTwoColumnsOfOneName: only one of them could be asked for.
func TestTwoColumnsOfOneName(t *testing.T) {
	for _, c := range []struct {
		name string
		rows any
		want string // the column
	}{
		{"ambiguous in Go", []struct {
			inner
			other
		}{{inner{7}, other{8}}}, "ID"},
		{"two tags", []struct {
			A int `table:"x"`
			B int `json:"x"`
		}{{1, 2}}, "x"},
		{"a tag and a name", []struct {
			A int
			B int `table:"A"`
		}{{1, 2}}, "A"},
		{"a tag and an embedded name", []struct {
			inner
			Name string `table:"ID"`
		}{{inner{7}, "o"}}, "ID"},
		{"key in a map", map[string]struct {
			Key int `json:"key"`
		}{"a": {1}}, "key"},
		{"no rows", []struct {
			inner
			other
		}{}, "ID"},
	} {
		if got, err := Of(c.rows); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("two columns are called %q: give one another name", c.want)) {
			t.Errorf("%s: got %v and the error %v", c.name, got, err)
		}
	}
	if _, err := of(t, shots()).Select("xg", "Team", "xg"); err == nil || !strings.Contains(err.Error(), `column "xg" is selected twice`) {
		t.Errorf("selected twice: got %v", err)
	}
}
