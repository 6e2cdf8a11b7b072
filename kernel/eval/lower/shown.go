package lower

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// shownType is a type as the runtime writes it in its errors.
func shownType(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic: // byte and rune are other names
		return types.Typ[t.Kind()].Name()
	case *types.Named:
		return shownName(t)
	case *types.Pointer:
		return "*" + shownType(t.Elem())
	case *types.Slice:
		return "[]" + shownType(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), shownType(t.Elem()))
	case *types.Map:
		return "map[" + shownType(t.Key()) + "]" + shownType(t.Elem())
	case *types.Chan:
		return map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()] + shownType(t.Elem())
	case *types.Signature:
		return "func" + shownSignature(t)
	case *types.Struct:
		return shownStruct(t)
	case *types.Interface:
		return shownMethods(t)
	}
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

func shownSignature(t *types.Signature) string {
	params := shownTuple(t.Params())
	if n := len(params) - 1; t.Variadic() {
		params[n] = "..." + strings.TrimPrefix(params[n], "[]")
	}
	text := "(" + strings.Join(params, ", ") + ")"
	switch results := shownTuple(t.Results()); len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	default:
		return text + " (" + strings.Join(results, ", ") + ")"
	}
}

func shownTuple(t *types.Tuple) []string {
	texts := make([]string, t.Len())
	for i := range texts {
		texts[i] = shownType(t.At(i).Type())
	}
	return texts
}

func shownStruct(t *types.Struct) string {
	fields := make([]string, t.NumFields())
	for i := range fields {
		fields[i] = shownType(t.Field(i).Type())
		if !t.Field(i).Embedded() {
			fields[i] = t.Field(i).Name() + " " + fields[i]
		}
		if tag := t.Tag(i); tag != "" {
			fields[i] += " " + strconv.Quote(tag)
		}
	}
	if len(fields) == 0 {
		return "struct {}"
	}
	return "struct { " + strings.Join(fields, "; ") + " }"
}

// shownMethods is an interface without a name, exported methods in front.
func shownMethods(t *types.Interface) string {
	if t.NumMethods() == 0 {
		return "interface {}"
	}
	var exported, others []string
	for m := range t.Methods() {
		text := m.Name() + shownSignature(m.Signature())
		if m.Exported() {
			exported = append(exported, text)
		} else {
			others = append(others, m.Pkg().Name()+"."+text)
		}
	}
	return "interface { " + strings.Join(append(exported, others...), "; ") + " }"
}
