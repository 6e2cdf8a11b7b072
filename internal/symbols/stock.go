package symbols

import (
	"reflect"
	"strings"

	"github.com/traefik/yaegi/stdlib"
	"github.com/traefik/yaegi/stdlib/unsafe"
)

// addStock adds what yaegi keeps by hand beside its own, older tables of the standard library:
//
//   - which functions look for more interfaces than their parameters say (fmt.Println for fmt.Stringer), and which
//     wrapper to take when a value has more methods than the interface asks for (io.Copy a Reader's WriteTo). They are
//     keyed by yaegi's own wrapper types, so its wrapper is taken wherever it still has all methods of the interface;
//   - package unsafe, whose functions have no values in Go.
func addStock(table map[string]map[string]reflect.Value) {
	for key, stock := range stdlib.Symbols {
		ours, ok := table[key]
		if !ok {
			continue
		}
		for name, wrapper := range stock {
			if iface, isWrapper := strings.CutPrefix(name, "_"); isWrapper && serves(wrapper, ours[iface]) {
				ours[name] = wrapper
			}
		}
	}
	table["."] = stdlib.Symbols["."]
	for _, key := range []string{"unsafe/unsafe", "github.com/traefik/yaegi/yaegi"} {
		table[key] = unsafe.Symbols[key]
	}
}

// serves tells whether a wrapper has the methods of an interface; both are given as nil pointers to the type.
func serves(wrapper, iface reflect.Value) bool {
	if !iface.IsValid() {
		return false
	}
	t := iface.Type().Elem()
	return t.Kind() == reflect.Interface && wrapper.Type().Elem().Implements(t)
}
