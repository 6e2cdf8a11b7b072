package columns

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// canonical turns a Go value into the form that Read gives: nil, bool, int64, float64, string, []byte, Decimal, time.Time, time.Duration, []any,
// Struct, Map.
func canonical(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte, Decimal, time.Time, time.Duration:
		return v, nil
	case Struct:
		values, err := canonicalAll(v.Values)
		return Struct{v.Names, values}, err
	case Map:
		keys, err := canonicalAll(v.Keys)
		if err != nil {
			return nil, err
		}
		values, err := canonicalAll(v.Values)
		return Map{keys, values}, err
	case fmt.Stringer:
		if r := reflect.ValueOf(v); r.Kind() != reflect.Pointer {
			return nil, fmt.Errorf("%v is a %T, which has words of its own: give its number or its text", v, v)
		}
	}
	return reflected(reflect.ValueOf(v))
}

func canonicalAll(vs []any) ([]any, error) {
	all := make([]any, len(vs))
	for i, v := range vs {
		var err error
		if all[i], err = canonical(v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// reflected is canonical of what has a name of its own, or parts.
func reflected(r reflect.Value) (any, error) {
	switch {
	case r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface:
		if r.IsNil() {
			return nil, nil
		}
		return canonical(r.Elem().Interface())
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint():
		if r.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%d is beyond a bigint, 9223372036854775807", r.Uint())
		}
		return int64(r.Uint()), nil
	case r.CanFloat():
		return r.Float(), nil
	case r.Kind() == reflect.Bool:
		return r.Bool(), nil
	case r.Kind() == reflect.String:
		return r.String(), nil
	case r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8:
		return r.Bytes(), nil
	case r.Kind() == reflect.Slice && r.IsNil(), r.Kind() == reflect.Map && r.IsNil():
		return nil, nil
	case r.Kind() == reflect.Slice, r.Kind() == reflect.Array:
		return list(r)
	case r.Kind() == reflect.Map:
		return mapping(r)
	case r.Kind() == reflect.Struct:
		return record(r)
	}
	return nil, fmt.Errorf("a %v has no type in Spark", r.Type())
}

func list(r reflect.Value) (any, error) {
	all := make([]any, r.Len())
	for i := range all {
		var err error
		if all[i], err = canonical(r.Index(i).Interface()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// mapping has the keys in the order of their texts, so that the same map makes the same bytes.
func mapping(r reflect.Value) (any, error) {
	keys := r.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	m := Map{Keys: make([]any, len(keys)), Values: make([]any, len(keys))}
	for i, k := range keys {
		var err error
		if m.Keys[i], err = canonical(k.Interface()); err != nil {
			return nil, err
		}
		if m.Values[i], err = canonical(r.MapIndex(k).Interface()); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// record has a struct's exported fields, named by their tags `json:"…"` or by themselves.
func record(r reflect.Value) (any, error) {
	s := Struct{}
	for i := range r.NumField() {
		f := r.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		v, err := canonical(r.Field(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		s.Names, s.Values = append(s.Names, cmp.Or(name, f.Name)), append(s.Values, v)
	}
	if len(s.Names) == 0 {
		return nil, fmt.Errorf("a %v has no exported field", r.Type())
	}
	return s, nil
}

// infer is the type of a canonical value.
func infer(v any) (Type, error) {
	switch v := v.(type) {
	case nil:
		return Type{Kind: Void}, nil
	case bool:
		return Type{Kind: Boolean}, nil
	case int64:
		return Type{Kind: Long}, nil
	case float64:
		return Type{Kind: Double}, nil
	case string:
		return Type{Kind: String}, nil
	case []byte:
		return Type{Kind: Binary}, nil
	case time.Time:
		return Type{Kind: Timestamp}, nil
	case time.Duration:
		return Type{Kind: DayTime}, nil
	case Decimal:
		return inferDecimal(v)
	case []any:
		element, err := inferAll(v)
		return arrayOf(element), err
	case Map:
		key, err := inferAll(v.Keys)
		if err != nil {
			return Type{}, err
		}
		value, err := inferAll(v.Values)
		return mapOf(key, value), err
	case Struct:
		return inferStruct(v)
	}
	return Type{}, fmt.Errorf("a %T has no type in Spark", v)
}

func inferAll(vs []any) (Type, error) {
	t := Type{Kind: Void}
	for _, v := range vs {
		next, err := infer(v)
		if err != nil {
			return Type{}, err
		}
		if t, err = both(t, next); err != nil {
			return Type{}, err
		}
	}
	return t, nil
}

func inferStruct(s Struct) (Type, error) {
	t := Type{Kind: Record}
	for i, name := range s.Names {
		part, err := infer(s.Values[i])
		if err != nil {
			return Type{}, err
		}
		t.Parts = append(t.Parts, Field{name, part})
	}
	return t, nil
}

func inferDecimal(d Decimal) (Type, error) {
	unscaled, scale, err := d.parts()
	if err != nil {
		return Type{}, err
	}
	digits := max(len(unscaled.Abs(unscaled).String()), scale)
	if digits > mostDigits {
		return Type{}, fmt.Errorf("decimal %s has %d digits, and Spark's have %d at most", d, digits, mostDigits)
	}
	return Type{Kind: Number, Precision: digits, Scale: scale}, nil
}

var errMixed = errors.New("the values of a column are of one kind")

// both is the type that the values of two fit.
func both(a, b Type) (Type, error) {
	switch {
	case a.Kind == Void:
		return b, nil
	case b.Kind == Void || a.equal(b):
		return a, nil
	case a.Kind == Number && b.Kind == Number:
		return wider(a, b)
	case a.Kind == Long && b.Kind == Double, a.Kind == Double && b.Kind == Long:
		return Type{Kind: Double}, nil // Write refuses the integers that a double cannot hold
	case a.Kind != b.Kind || len(a.Parts) != len(b.Parts) || len(a.Parts) == 0:
		return Type{}, fmt.Errorf("%v behind %v: %w", b, a, errMixed)
	}
	t := Type{Kind: a.Kind, Parts: make([]Field, len(a.Parts))}
	for i, p := range a.Parts {
		q := b.Parts[i]
		if p.Name != q.Name {
			return Type{}, fmt.Errorf("%v behind %v: %w", b, a, errMixed)
		}
		part, err := both(p.Type, q.Type)
		if err != nil {
			return Type{}, err
		}
		t.Parts[i] = Field{p.Name, part}
	}
	return t, nil
}

// wider is the decimal type that has the digits of both, in front of the point and behind it.
func wider(a, b Type) (Type, error) {
	t := Type{Kind: Number, Scale: max(a.Scale, b.Scale)}
	t.Precision = max(a.Precision-a.Scale, b.Precision-b.Scale) + t.Scale
	if t.Precision > mostDigits {
		return Type{}, fmt.Errorf("%v and %v need %d digits together, and Spark's decimals have %d at most", a, b, t.Precision, mostDigits)
	}
	return t, nil
}
