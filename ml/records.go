package ml

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FromStructs makes a dataset of a slice of structs, or of pointers to them, as [FromTable] does of a table. Each exported field is a
// column: numbers, bools (0 and 1), times (seconds since 1970), text, and pointers to these, of which nil is missing. Fields of embedded
// structs count as fields. A tag names the column, or says its role:
//
//	type Shot struct {
//		Distance float64
//		Foot     string  `ml:"onehot"`
//		Goal     bool    `ml:"label"`
//		Match    int64   `ml:"match_id,group"`
//		Note     string  `ml:"-"`
//	}
//
// The roles are label, target, group, weight, onehot and ordinal; any other word is the column's name, which is that of the field without one.
// Of what the roles in r say too, r counts.
func FromStructs(rows any, r Roles) (*Dataset, error) {
	v := reflect.ValueOf(rows)
	if v.Kind() != reflect.Slice || structOf(v.Type().Elem()).Kind() != reflect.Struct {
		return nil, fmt.Errorf("ml: %T is no slice of structs", rows)
	}
	fields, tagged, err := fieldsOf(structOf(v.Type().Elem()))
	if err != nil {
		return nil, err
	}
	t := &records{rows: v, fields: fields}
	for i := range v.Len() {
		if e := v.Index(i); e.Kind() == reflect.Pointer && e.IsNil() {
			return nil, fmt.Errorf("ml: row %d is nil", i)
		}
	}
	return FromTable(t, tagged.or(r))
}

// structOf is what a pointer points to.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// or are the roles of tags, r's where it says something.
func (tagged Roles) or(r Roles) Roles {
	for _, each := range []struct{ at, from *string }{{&r.Label, &tagged.Label}, {&r.Target, &tagged.Target}, {&r.Group, &tagged.Group}, {&r.Weight, &tagged.Weight}} {
		if *each.at == "" {
			*each.at = *each.from
		}
	}
	if r.OneHot == nil {
		r.OneHot = tagged.OneHot
	}
	if r.Ordinal == nil {
		r.Ordinal = tagged.Ordinal
	}
	return r
}

// field is a column of structs.
type field struct {
	name  string
	index []int
}

// fieldsOf lists the columns of a struct, and their roles.
func fieldsOf(t reflect.Type) (fields []field, r Roles, err error) {
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("ml")
		if !f.IsExported() || tag == "-" || f.Anonymous && f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]() {
			continue
		}
		if through(t, f.Index) {
			return nil, r, fmt.Errorf("ml: field %s lies behind a pointer that is embedded; embed the struct itself", f.Name)
		}
		if !columnar(structOf(f.Type)) {
			return nil, r, fmt.Errorf("ml: field %s is a %s, which is no column; tag it `ml:\"-\"` to leave it out", f.Name, f.Type)
		}
		name := f.Name
		for word := range strings.SplitSeq(tag, ",") {
			if !strings.Contains(",label,target,group,weight,onehot,ordinal,,", ","+word+",") {
				name = word
			}
		}
		for word := range strings.SplitSeq(tag, ",") {
			r.take(word, name)
		}
		fields = append(fields, field{name, f.Index})
	}
	return fields, r, nil
}

// through tells whether the way to a field leads through an embedded pointer, which may be nil.
func through(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Pointer {
			return true
		}
		t = f.Type
	}
	return false
}

// take gives a column the role that a word of its tag names.
func (r *Roles) take(word, column string) {
	switch word {
	case "label":
		r.Label = column
	case "target":
		r.Target = column
	case "group":
		r.Group = column
	case "weight":
		r.Weight = column
	case "onehot":
		r.OneHot = append(r.OneHot, column)
	case "ordinal":
		r.Ordinal = append(r.Ordinal, column)
	}
}

// columnar tells whether values of a type are numbers or text.
func columnar(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || t.Kind() == reflect.String || t.Kind() == reflect.Bool ||
		t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 && t.Kind() != reflect.Uintptr
}

// records are structs as a Table.
type records struct {
	rows   reflect.Value
	fields []field
}

// Len implements Table.
func (t *records) Len() int { return t.rows.Len() }

// Columns implements Table.
func (t *records) Columns() (all []string) {
	for _, f := range t.fields {
		all = append(all, f.name)
	}
	return all
}

// Column implements Table.
func (t *records) Column(name string) ([]float64, error) {
	out := make([]float64, t.Len())
	err := t.each(name, func(i int, v reflect.Value) error {
		at, isTime := v.Interface().(time.Time)
		switch {
		case isTime:
			out[i] = float64(at.UnixNano()) / 1e9
		case v.CanInt():
			out[i] = float64(v.Int())
		case v.CanUint():
			out[i] = float64(v.Uint())
		case v.CanFloat():
			out[i] = v.Float()
		case v.Kind() == reflect.Bool && v.Bool():
			out[i] = 1
		case v.Kind() == reflect.String:
			return fmt.Errorf("%q in row %d is text", v.String(), i)
		}
		return nil
	}, func(i int) { out[i] = math.NaN() })
	return out, err
}

// Strings implements Table.
func (t *records) Strings(name string) ([]string, error) {
	out := make([]string, t.Len())
	err := t.each(name, func(i int, v reflect.Value) error {
		switch {
		case v.CanFloat() && math.IsNaN(v.Float()):
		case v.CanFloat():
			out[i] = strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
		default:
			out[i] = fmt.Sprint(v.Interface())
		}
		return nil
	}, func(int) {})
	return out, err
}

// each goes through the values of a column; what a nil points to is none.
func (t *records) each(name string, value func(i int, v reflect.Value) error, none func(i int)) error {
	k := slices.IndexFunc(t.fields, func(f field) bool { return f.name == name })
	if k < 0 {
		return fmt.Errorf("there is no column %q", name)
	}
	for i := range t.Len() {
		v := reflect.Indirect(t.rows.Index(i)).FieldByIndex(t.fields[k].index)
		if v.Kind() == reflect.Pointer && v.IsNil() {
			none(i)
			continue
		}
		if err := value(i, reflect.Indirect(v)); err != nil {
			return err
		}
	}
	return nil
}
