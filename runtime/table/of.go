package table

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Of makes a table from
//
//   - a slice or array of structs, or of pointers to them: a column each exported field, named by its tag `table:"…"`,
//     else by its `json:"…"`, else by its own name; "-" leaves it out; embedded structs count as their fields, without those that
//     the outer struct hides by a field of the same name, as in Go;
//   - a slice of maps with string keys: a column each key, in alphabetical order;
//   - a map: columns key and value, or key and the fields of its structs, in the order of the keys;
//   - [][]string: the first row names the columns, which are then typed as ReadCSV does;
//   - a slice of anything else: one column, value;
//   - a *Table: itself.
//
// Two columns of one name are an error: two tags that are equal, fields of two embedded structs that Go calls ambiguous, or a field
// called key in a map's structs.
func Of(rows any) (*Table, error) {
	if t, ok := rows.(*Table); ok && t != nil {
		return t, nil
	}
	if records, ok := rows.([][]string); ok {
		return fromRecords(records)
	}
	v := reflect.ValueOf(rows)
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		return fromList(v).distinct()
	case reflect.Map:
		return fromMap(v, v.Len()).distinct()
	}
	return nil, fmt.Errorf("table: a %T is no rows: give a slice of structs, a slice of maps, a map or [][]string", rows)
}

// distinct refuses a table with two columns of one name: all but the first could not be asked for.
func (t *Table) distinct() (*Table, error) {
	names := t.Columns()
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return nil, fmt.Errorf("table: two columns are called %q: give one another name, by a tag such as `table:%q`", names[i], names[i]+"2")
		}
	}
	return t, nil
}

func fromList(v reflect.Value) *Table {
	elem := v.Type().Elem()
	for elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	switch {
	case isRecord(elem):
		return fromStructs(v.Len(), elem, v.Index)
	case elem.Kind() == reflect.Map && elem.Key().Kind() == reflect.String:
		return fromMaps(v)
	}
	return &Table{columns: []*column{collect("value", v.Len(), v.Index)}, rows: v.Len()}
}

// isRecord tells structs with columns from those that are one value, such as a time.
func isRecord(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return false
	}
	return len(fieldsOf(t, nil)) > 0 && !t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// collect makes a column of the n values that at gives.
func collect(name string, n int, at func(int) reflect.Value) *column {
	values, kinds := make([]any, n), make([]kind, n)
	for i := range n {
		values[i], kinds[i] = plain(at(i))
	}
	return build(name, values, kinds)
}

// field is a struct's column: where it is and how it is named.
type field struct {
	name  string
	index []int
	typ   reflect.Type
}

func fieldsOf(t reflect.Type, at []int) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		name := columnName(t, f)
		switch {
		case name == "-":
		case f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag == "" && isRecord(f.Type):
			fields = append(fields, fieldsOf(f.Type, index)...)
		case f.IsExported():
			fields = append(fields, field{name: name, index: index, typ: f.Type})
		}
	}
	return fields
}

// promoted are a struct's columns as Go promotes fields: one that lies deeper than another of its name is hidden. A column is hidden only by one
// of its own name, so that a tag keeps both.
func promoted(t reflect.Type) []field {
	all := fieldsOf(t, nil)
	hidden := func(f field) bool {
		return slices.ContainsFunc(all, func(other field) bool {
			return other.name == f.name && len(other.index) < len(f.index) && t.FieldByIndex(other.index).Name == t.FieldByIndex(f.index).Name
		})
	}
	var seen []field
	for _, f := range all {
		if !hidden(f) {
			seen = append(seen, f)
		}
	}
	return seen
}

// columnName is the field's tag or name. An interpreter makes its struct types with reflect.StructOf, which takes exported
// names only: minute arrives as Xminute in a type that has no name itself.
func columnName(t reflect.Type, f reflect.StructField) string {
	for _, tag := range []string{"table", "json"} {
		if name, _, _ := strings.Cut(f.Tag.Get(tag), ","); name != "" {
			return name
		}
	}
	if t.Name() == "" && len(f.Name) > 1 && f.Name[0] == 'X' && unicode.IsLower(rune(f.Name[1])) {
		return f.Name[1:]
	}
	return f.Name
}

// fromStructs reads n structs, or pointers to them, that at gives; a nil pointer is a row without values.
func fromStructs(n int, typ reflect.Type, at func(int) reflect.Value) *Table {
	t := &Table{rows: n}
	for _, f := range promoted(typ) {
		c := collect(f.name, n, func(i int) reflect.Value {
			v := at(i)
			for v.Kind() == reflect.Pointer {
				if v.IsNil() {
					return reflect.Value{}
				}
				v = v.Elem()
			}
			return v.FieldByIndex(f.index)
		})
		if c.blank() { // the values tell no kind, the type does
			c = blank(f.name, zeroKind(f.typ), n)
		}
		t.columns = append(t.columns, c)
	}
	return t
}

// zeroKind is the kind of a column without a value, from its type alone.
func zeroKind(t reflect.Type) kind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, k := plain(reflect.Zero(t))
	return k
}

// blank is a column of n missing values.
func blank(name string, k kind, n int) *column {
	c := newColumn(name, k)
	for range n {
		c.append(nil)
	}
	return c
}

func fromMaps(v reflect.Value) *Table {
	var names []string
	for i := range v.Len() {
		for _, key := range v.Index(i).MapKeys() {
			if !slices.Contains(names, key.String()) {
				names = append(names, key.String())
			}
		}
	}
	slices.Sort(names)
	t := &Table{rows: v.Len()}
	for _, name := range names {
		t.columns = append(t.columns, collect(name, v.Len(), func(i int) reflect.Value {
			m := v.Index(i)
			return m.MapIndex(reflect.ValueOf(name).Convert(m.Type().Key()))
		}))
	}
	return t
}

// fromMap takes the first n keys in their order.
func fromMap(v reflect.Value, n int) *Table {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		case a.CanFloat():
			return cmp.Compare(a.Float(), b.Float())
		}
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	keys = keys[:min(n, len(keys))]
	t := &Table{rows: len(keys), columns: []*column{collect("key", len(keys), func(i int) reflect.Value { return keys[i] })}}
	elem := v.Type().Elem()
	for elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	at := func(i int) reflect.Value { return v.MapIndex(keys[i]) }
	if isRecord(elem) {
		t.columns = append(t.columns, fromStructs(len(keys), elem, at).columns...)
		return t
	}
	t.columns = append(t.columns, collect("value", len(keys), at))
	return t
}

var errNoHeader = errors.New("table: the first row must name the columns, and there is none")

func fromRecords(records [][]string) (*Table, error) {
	if len(records) == 0 {
		return nil, errNoHeader
	}
	header, rows := records[0], records[1:]
	for i, row := range rows {
		if len(row) != len(header) {
			return nil, fmt.Errorf("table: row %d has %d values where the header names %d", i+1, len(row), len(header))
		}
	}
	return parse(header, len(rows), func(k int, into []string) {
		for i, row := range rows {
			into[i] = row[k]
		}
	}, nil)
}
