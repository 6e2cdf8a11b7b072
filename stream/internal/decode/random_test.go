package decode_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cancha/stream/internal/decode"
	"cancha/stream/internal/value"
)

// text writes a random value with few names, so that names repeat and nest.
func text(random *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	kind := random.IntN(8)
	if depth == 0 && kind < 4 {
		kind += 4
	}
	space := pick("", "", "", " ", "\n\t")
	var b strings.Builder
	switch {
	case kind < 3:
		b.WriteString("{" + space)
		for i := range random.IntN(5) {
			if i > 0 {
				b.WriteString("," + space)
			}
			fmt.Fprintf(&b, `%s%s:%s%s`, pick(`"a"`, `"b"`, `"c"`, `"\u0061"`, `"b"`, `"a longer name"`, `""`, `"é"`, `"a"`), space, space, text(random, depth-1))
		}
		return b.String() + space + "}"
	case kind == 3:
		b.WriteString("[" + space)
		for i := range random.IntN(4) {
			if i > 0 {
				b.WriteString("," + space)
			}
			b.WriteString(text(random, depth-1))
		}
		return b.String() + space + "]"
	}
	return pick("null", "true", "false", "0", "-1", "1.5e3", "123456789012345678", `"x"`, `""`, `"\ud83d\ude00\n"`, `"2026-03-01T15:00:00.123Z"`)
}

// TestRandomRecords compares with encoding/json on records whose members repeat, nest and change their kinds, with one decoder for all.
func TestRandomRecords(t *testing.T) {
	paths := []string{"a", "b", "a.b", "a.a.c", "a[0]", "b[1].a", "b.a[0]", "c.b", `["a longer name"].a`, `["é"]`, "a.b.c"}
	var slots []decode.Slot
	for i, path := range paths {
		slots = append(slots, decode.Slot{Path: path, At: i})
	}
	d, err := decode.NewJSON(slots, decode.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 9))
	found := 0
	for range 10_000 {
		record := text(random, 4)
		row := make([]value.Value, len(paths))
		reason := d.Decode([]byte(record), row)
		var tree any
		if err := json.Unmarshal([]byte(record), &tree); err != nil {
			t.Fatal(err)
		}
		if _, is := tree.(map[string]any); !is {
			if reason != "not an object: want a JSON object" {
				t.Fatalf("%s: got %q", record, reason)
			}
			continue
		}
		if reason != "" {
			t.Fatalf("%s: got %q", record, reason)
		}
		for i, path := range paths {
			want := follow(t, tree, path)
			if !same(row[i], want) {
				t.Fatalf("%s\n%s: got %v, want %v", record, path, row[i], want)
			}
			if want != nil {
				found++
			}
		}
	}
	if found < 3_000 {
		t.Errorf("only %d values were there: the records test nothing", found)
	}
}

// follow is the value at a path.
func follow(t *testing.T, tree any, path string) any {
	parts, err := decode.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.Index >= 0 {
			list, _ := tree.([]any)
			tree = at(list, p.Index)
			continue
		}
		tree = object(tree)[p.Name]
	}
	return tree
}
