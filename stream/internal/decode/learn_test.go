package decode

import (
	"fmt"
	"strings"
	"testing"

	"cancha/stream/internal/value"
)

func learner(t *testing.T, paths ...string) (*JSON, func(record string)) {
	t.Helper()
	var slots []Slot
	for i, path := range paths {
		slots = append(slots, Slot{Path: path, At: i})
	}
	d, err := NewJSON(slots, Shape{})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]value.Value, len(paths))
	return d, func(record string) {
		clear(row)
		if reason := d.Decode([]byte(record), row); reason != "" {
			t.Fatalf("%s: %s", record, reason)
		}
		for i, v := range row {
			if v.IsNull() {
				t.Fatalf("%s: nothing at %s", record, paths[i])
			}
		}
	}
}

// odd is a record of n objects that no path needs, each with names of its own.
func odd(n int) string {
	var all []string
	for i := range n {
		var members []string
		for k := range maxMembers / 2 {
			members = append(members, fmt.Sprintf(`"odd_%d_%d":{"one":[{"two":%d}]}`, i, k, k))
		}
		all = append(all, fmt.Sprintf(`"object_%d":{%s}`, i, strings.Join(members, ",")))
	}
	return `{"id":1,` + strings.Join(all, ",") + `}`
}

func TestLearnedNodesAreCounted(t *testing.T) {
	d, read := learner(t, "id")
	for _, n := range []int{1, 3, 40} {
		read(odd(n))
		if got, _ := d.root.count(); got != d.learned || got > maxLearned {
			t.Fatalf("%d nodes that no path needs are there, %d counted, %d allowed", got, d.learned, maxLearned)
		}
	}
	if d.learned < maxLearned/2 {
		t.Errorf("%d nodes learned of a record that has more than %d", d.learned, maxLearned)
	}
}

// TestMapsAreNotLearned: an object of ever new names gives back what it took, however much that is, and keeps being read.
func TestMapsAreNotLearned(t *testing.T) {
	for _, fields := range []int{0, 1, 5, 30, 100} {
		d, read := learner(t, "id", "team.name")
		var rest strings.Builder
		for i := range fields {
			fmt.Fprintf(&rest, `,"field_%d":{"x":%d}`, i, i)
		}
		for i := range 3 * maxLearned {
			read(fmt.Sprintf(`{"by_user":{"user %d":{"seen":[1,{"at":2}]%s},"last":3},"id":%d,"team":{"name":"t"}}`, i, rest.String(), i))
		}
		m := d.root.find([]byte("by_user"))
		if wild := m != nil && (m.wild || m.members[0].wild); !wild || d.learned > 200+3*fields {
			t.Errorf("%d fields: %d nodes learned of a map of users, known as one: %t", fields, d.learned, wild)
		}
		if learned, memos := d.root.count(); learned != d.learned || memos != d.memos {
			t.Errorf("%d fields: %d nodes and %d memos are there, %d and %d counted", fields, learned, memos, d.learned, d.memos)
		}
		if d.root.find([]byte("team")).memo == nil {
			t.Errorf("%d fields: the teams are not remembered", fields)
		}
	}
}

// TestAnOddRecordIsForgotten: what one record made the decoder learn does not keep it from learning the names of all others for ever.
func TestAnOddRecordIsForgotten(t *testing.T) {
	d, read := learner(t, "id")
	chain := `"deep":1`
	for i := range 2 * maxLearned / 3 {
		chain = fmt.Sprintf(`"a%d":1,"b%d":[{%s}]`, i, i, chain)
	}
	read(`{"id":1,` + chain + `}`)
	usual := `{"id":2,"name":"a","place":{"x":1,"y":2}}`
	if read(usual); !d.full || d.root.find([]byte("name")) != nil {
		t.Fatal("the odd record left room: the test tests nothing")
	}
	d.began -= relearn
	read(usual)
	if m := d.root.find([]byte("place")); m == nil || len(m.members) != 2 || d.learned != 4 {
		t.Errorf("%d nodes learned, want name, place, x and y", d.learned)
	}
}

// TestEscapedNamesAreNotLearned: each would be compared in all its spellings.
func TestEscapedNamesAreNotLearned(t *testing.T) {
	d, read := learner(t, "id")
	read(`{"id":1,"\u0061":1,"b":{"\n":{"c":1}}}`)
	if d.learned != 1 {
		t.Errorf("%d nodes learned, want that of b", d.learned)
	}
}

func TestLongNamesAreNotLearned(t *testing.T) {
	d, read := learner(t, "id")
	read(fmt.Sprintf(`{%q:1,"id":1,"rest":{%q:{"a":2}}}`, strings.Repeat("n", maxName+1), strings.Repeat("m", 1<<20)))
	if d.learned != 1 {
		t.Errorf("%d nodes learned, want that of rest", d.learned)
	}
}

// TestNamesWithEscapes are found whatever they are written in, when they were learned first and when they were planted.
func TestNamesWithEscapes(t *testing.T) {
	for _, path := range []string{"shop", `["sh\"op"]`, `["a/b"]`, "café"} {
		parts, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		_, read := learner(t, path)
		for _, escaped := range []string{
			`{"other\u0031":1,"NAME":1}`, `{"other1":1,"NAME" : 1 }`, `{"\u006fther1":{},"NAME":{"NAME":2}}`,
		} {
			for _, name := range spellings(parts[0].Name) {
				read(strings.ReplaceAll(escaped, "NAME", name))
			}
		}
	}
}

// spellings are JSON texts, without quotes, of one name.
func spellings(name string) []string {
	var codes strings.Builder
	for _, r := range name {
		fmt.Fprintf(&codes, `\u%04x`, r)
	}
	plain := string(value.AppendQuoted(nil, name))
	return []string{plain[1 : len(plain)-1], codes.String(), strings.ReplaceAll(plain[1:len(plain)-1], "/", `\/`)}
}
