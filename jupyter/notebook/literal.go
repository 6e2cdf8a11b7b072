package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// literal is a value as a Go literal of the parameter's type, or why it is none. Of the value's text nothing gets into it but
// digits that have been read as a number and texts that are quoted.
func (p parameter) literal(v value) (string, error) {
	if p.declared == nil {
		return "", fmt.Errorf("parameter %s: the parameters cell alone does not tell its type, so that no value of a submission can be taken for it; "+
			"declare it as var %s T = …, T one of Go's own types, time.Duration, or a type of that cell", p.name, p.name)
	}
	text, err := literalOf(p.name, p.declared, v, mostLevels)
	if err != nil {
		return "", fmt.Errorf("parameter %w", err)
	}
	return text, nil
}

// mostLevels is how deep lists and objects lie in each other at most.
const mostLevels = 64

// value is one of JSON.
type value struct {
	kind  kind
	text  string  // of a string, a number, or true and false
	items []value // of a list, or an object's
	names []string
}

type kind int

const (
	isNull kind = iota
	isBool
	isNumber
	isText
	isList
	isObject
)

// String is a value for an error, on one line and not long.
func (v value) String() string {
	switch v.kind {
	case isNull:
		return "null"
	case isText:
		return fmt.Sprintf("the text %.60q", v.text)
	case isList:
		return fmt.Sprintf("a list of %d", len(v.items))
	case isObject:
		return fmt.Sprintf("an object of %d", len(v.items))
	}
	return fmt.Sprintf("%.60s", v.text)
}

// fields are those of a JSON object; null, or nothing, has none. Two of one name are an error: readers differ in which of them counts.
func fields(object json.RawMessage) (map[string]value, error) {
	if len(object) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(string(object)))
	d.UseNumber()
	v, err := read(d, mostLevels)
	if err == nil && d.More() {
		err = errors.New("there is more behind the object")
	}
	if err == nil && v.kind != isObject && v.kind != isNull {
		err = fmt.Errorf("want an object of the notebook's own parameters, got %v", v)
	}
	if err != nil {
		return nil, err
	}
	all := map[string]value{}
	for i, name := range v.names {
		all[name] = v.items[i]
	}
	return all, nil
}

// read reads one value.
func read(d *json.Decoder, levels int) (v value, err error) {
	if levels == 0 {
		return v, fmt.Errorf("lists and objects lie in each other more than %d levels deep", mostLevels)
	}
	t, err := d.Token()
	if err != nil {
		return v, err
	}
	switch t := t.(type) {
	case bool:
		return value{kind: isBool, text: strconv.FormatBool(t)}, nil
	case json.Number:
		return value{kind: isNumber, text: t.String()}, nil
	case string:
		return value{kind: isText, text: t}, nil
	case json.Delim:
		return readAll(d, t == '{', levels)
	}
	return value{}, nil
}

// readAll reads what is in a list, or in an object.
func readAll(d *json.Decoder, named bool, levels int) (value, error) {
	v, seen := value{kind: isList}, map[string]bool{}
	if named {
		v.kind = isObject
	}
	for d.More() {
		if named {
			t, err := d.Token()
			if err != nil {
				return v, err
			}
			name, _ := t.(string)
			if seen[name] {
				return v, fmt.Errorf("there are two of the name %.100q", name)
			}
			seen[name], v.names = true, append(v.names, name)
		}
		item, err := read(d, levels-1)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
	_, err := d.Token()
	return v, err
}

// misfit tells what a place wants and what came.
func misfit(at, want string, v value) error { return fmt.Errorf("%s: want %s, got %v", at, want, v) }

// literalOf is a value as a literal of a type, for the place that an error names.
func literalOf(at string, t types.Type, v value, levels int) (string, error) {
	if levels == 0 {
		return "", fmt.Errorf("%s: its type goes more than %d levels deep", at, mostLevels)
	}
	if isDuration(t) {
		return durationOf(at, v)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.Invalid {
			return "", fmt.Errorf("%s: the parameters cell alone does not tell its type, so that no value of a submission can be taken for it", at)
		}
		return basicOf(at, t, u, v)
	case *types.Slice:
		return listOf(at, t, u.Elem(), -1, v, levels)
	case *types.Array:
		return listOf(at, t, u.Elem(), u.Len(), v, levels)
	case *types.Map:
		return mapOf(at, t, u, v, levels)
	case *types.Struct:
		return structOf(at, t, u, v, levels)
	case *types.Pointer:
		return pointerOf(at, t, u, v, levels)
	case *types.Interface:
		if u.Empty() {
			return anyOf(at, v, levels)
		}
	}
	return "", fmt.Errorf("%s: no value of JSON is a %s; got %v", at, typeText(t), v)
}

// typeText is a type as the parameters cell writes it: a package has the name by which that cell knows it.
func typeText(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == "p" || p.Name() == "." {
			return ""
		}
		return p.Name()
	})
}

func isDuration(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "time" && n.Obj().Name() == "Duration"
}

// durationOf takes no bare number: to some it would be seconds, to Go it is nanoseconds.
func durationOf(at string, v value) (string, error) {
	d, err := time.ParseDuration(v.text)
	if v.kind != isText || err != nil {
		return "", misfit(at, `a duration with its unit, such as "90s" or "1h30m"`, v)
	}
	return strconv.FormatInt(int64(d), 10), nil
}

func basicOf(at string, t types.Type, b *types.Basic, v value) (string, error) {
	switch info := b.Info(); {
	case info&types.IsString != 0:
		if v.kind != isText {
			return "", misfit(at, "a text", v)
		}
		return strconv.Quote(v.text), nil
	case info&types.IsBoolean != 0:
		if v.kind != isBool {
			return "", misfit(at, "true or false", v)
		}
		return v.text, nil
	case info&types.IsInteger != 0:
		return integerOf(at, b, v)
	case info&types.IsNumeric != 0:
		return floatOf(at, t, b, v)
	}
	return "", fmt.Errorf("%s: no value of JSON is a %s; got %v", at, b, v)
}

// mostDigits is how long a number is at most: no type has more digits.
const mostDigits = 400

// integerOf takes each number that is whole, however it is written: 1e3 and 1000.0 too.
func integerOf(at string, b *types.Basic, v value) (string, error) {
	least, most := bounds(b)
	want := fmt.Sprintf("a whole number from %s to %s (%s)", least, most, b)
	if v.kind != isNumber || len(v.text) > mostDigits {
		return "", misfit(at, want, v)
	}
	digits, negative := strings.CutPrefix(v.text, "-")
	form := token.INT
	if strings.ContainsAny(digits, ".eE") {
		form = token.FLOAT
	}
	n := constant.ToInt(constant.MakeFromLiteral(digits, form, 0))
	if n.Kind() == constant.Int && negative {
		n = constant.UnaryOp(token.SUB, n, 0)
	}
	if n.Kind() != constant.Int || constant.Compare(n, token.LSS, least) || constant.Compare(n, token.GTR, most) {
		return "", misfit(at, want, v)
	}
	return n.ExactString(), nil
}

// bounds are the least and the largest integer of a type, of a machine of 64 bits.
func bounds(b *types.Basic) (least, most constant.Value) {
	bits := 8 * (&types.StdSizes{WordSize: 8, MaxAlign: 8}).Sizeof(b)
	if b.Info()&types.IsUnsigned != 0 {
		return constant.MakeInt64(0), constant.MakeUint64(math.MaxUint64 >> (64 - bits))
	}
	return constant.MakeInt64(math.MinInt64 >> (64 - bits)), constant.MakeInt64(math.MaxInt64 >> (64 - bits))
}

// floatOf takes what the type can hold: neither what is infinite there, nor what would be 0 and is not.
func floatOf(at string, t types.Type, b *types.Basic, v value) (string, error) {
	want := fmt.Sprintf("a number (%s)", b)
	if v.kind != isNumber || len(v.text) > mostDigits {
		return "", misfit(at, want, v)
	}
	bits := 64
	if b.Kind() == types.Float32 || b.Kind() == types.Complex64 {
		bits = 32
	}
	f, err := strconv.ParseFloat(v.text, bits)
	mantissa, _, _ := strings.Cut(strings.ToLower(v.text), "e")
	if err != nil || f == 0 && strings.ContainsAny(mantissa, "123456789") {
		return "", misfit(at, want+" in its range", v)
	}
	if f == 0 && math.Signbit(f) {
		return negativeZero(at, t, b, v)
	}
	return strconv.FormatFloat(f, 'g', -1, bits), nil
}

// negativeZero is -0, which no constant of Go is: the 0 in a literal is not constant.
func negativeZero(at string, t types.Type, b *types.Basic, v value) (string, error) {
	if b.Info()&types.IsFloat == 0 {
		return "", misfit(at, fmt.Sprintf("a number (%s) without a sign of zero", b), v)
	}
	return "-[1]" + typeText(t) + "{}[0]", nil
}

// listOf is a slice, or an array of a length; -1: a slice.
func listOf(at string, t, item types.Type, length int64, v value, levels int) (string, error) {
	switch {
	case v.kind == isNull && length < 0:
		return "nil", nil
	case v.kind != isList, length >= 0 && int64(len(v.items)) != length:
		return "", misfit(at, "a list ("+typeText(t)+")", v)
	}
	all := make([]string, len(v.items))
	for i, one := range v.items {
		text, err := literalOf(fmt.Sprintf("%s[%d]", at, i), item, one, levels-1)
		if err != nil {
			return "", err
		}
		all[i] = text
	}
	return composite(t, all), nil
}

func composite(t types.Type, all []string) string {
	return typeText(t) + "{" + strings.Join(all, ", ") + "}"
}

func mapOf(at string, t types.Type, m *types.Map, v value, levels int) (string, error) {
	if v.kind == isNull {
		return "nil", nil
	}
	if v.kind != isObject {
		return "", misfit(at, "an object ("+typeText(t)+")", v)
	}
	all := make([]string, len(v.items))
	for i, name := range v.names {
		in := fmt.Sprintf("%s[%.60q]", at, name)
		key, err := keyOf(in, m.Key(), name)
		if err != nil {
			return "", err
		}
		text, err := literalOf(in, m.Elem(), v.items[i], levels-1)
		if err != nil {
			return "", err
		}
		all[i] = key + ": " + text
	}
	return composite(t, all), nil
}

// keyOf is a name of an object as a key: a text, or the one way in which an integer is written.
func keyOf(at string, t types.Type, name string) (string, error) {
	b, ok := t.Underlying().(*types.Basic)
	switch {
	case ok && b.Info()&types.IsString != 0:
		return strconv.Quote(name), nil
	case ok && b.Info()&types.IsInteger != 0:
		number := value{kind: isNumber, text: name}
		if _, err := strconv.ParseInt(name, 10, 64); err != nil {
			if _, err := strconv.ParseUint(name, 10, 64); err != nil {
				return "", misfit(at, "a whole number as the key", value{kind: isText, text: name})
			}
		}
		text, err := integerOf(at, b, number)
		if err == nil && text != name {
			err = misfit(at, "the key as "+text, value{kind: isText, text: name})
		}
		return text, err
	}
	return "", fmt.Errorf("%s: a name of an object is no key of the type %s", at, typeText(t))
}

func structOf(at string, t types.Type, s *types.Struct, v value, levels int) (string, error) {
	if v.kind != isObject {
		return "", misfit(at, "an object ("+typeText(t)+")", v)
	}
	all := make([]string, len(v.items))
	for i, name := range v.names {
		f, err := fieldOf(s, name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", at, err)
		}
		text, err := literalOf(at+"."+f.Name(), f.Type(), v.items[i], levels-1)
		if err != nil {
			return "", err
		}
		all[i] = f.Name() + ": " + text
	}
	return composite(t, all), nil
}

// fieldOf is the field that a name in JSON means. Of several it is the one that encoding/json would take; where that takes none, the
// name is refused.
func fieldOf(s *types.Struct, name string) (*types.Var, error) {
	var found []namedField
	var names []string
	for i := range s.NumFields() {
		f := fieldIn(s.Field(i), s.Tag(i))
		if f.name == name {
			found = append(found, f)
		}
		if f.name != "" && !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	best := preferred(preferred(found, func(f namedField) bool { return f.field.Exported() }), func(f namedField) bool { return f.tagged })
	switch len(best) {
	case 0:
		return nil, fmt.Errorf("it has no field %.100q; it has %s", name, strings.Join(names, ", "))
	case 1:
		return best[0].field, nil
	}
	return nil, fmt.Errorf("the fields %s and %s are both called %.100q in JSON", best[0].field.Name(), best[1].field.Name(), name)
}

// namedField is a field and its name in JSON; "": it has none.
type namedField struct {
	field  *types.Var
	name   string
	tagged bool // the name is its tag's
}

func fieldIn(f *types.Var, tag string) namedField {
	tag = reflect.StructTag(tag).Get("json")
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case f.Name() == "_" || tag == "-":
		return namedField{field: f}
	case isName(name):
		return namedField{f, name, true}
	}
	return namedField{f, f.Name(), false}
}

// isName reports whether encoding/json takes a tag's name for one.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// preferred are the fields that have something ahead of the others, or all where none has it.
func preferred(all []namedField, has func(namedField) bool) []namedField {
	some := slices.DeleteFunc(slices.Clone(all), func(f namedField) bool { return !has(f) })
	if len(some) == 0 {
		return all
	}
	return some
}

// pointerOf is nil, or the address of what has a composite literal.
func pointerOf(at string, t types.Type, p *types.Pointer, v value, levels int) (string, error) {
	if v.kind == isNull {
		return "nil", nil
	}
	if _, ok := p.Elem().Underlying().(*types.Struct); !ok {
		return "", fmt.Errorf("%s: no value of JSON but null is a %s; got %v", at, typeText(t), v)
	}
	text, err := literalOf(at, p.Elem(), v, levels-1)
	return "&" + text, err
}

// anyOf is what encoding/json makes of a value.
func anyOf(at string, v value, levels int) (string, error) {
	empty := types.NewInterfaceType(nil, nil)
	switch v.kind {
	case isNull:
		return "nil", nil
	case isBool:
		return v.text, nil
	case isText:
		return strconv.Quote(v.text), nil
	case isNumber:
		text, err := floatOf(at, types.Typ[types.Float64], types.Typ[types.Float64], v)
		return "float64(" + text + ")", err
	case isList:
		return listOf(at, types.NewSlice(empty), empty, -1, v, levels)
	}
	m := types.NewMap(types.Typ[types.String], empty)
	return mapOf(at, m, m, v, levels)
}
