package native

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// dropped are methods that types have no more, with numbers. Functions of earlier cells that call one keep it, as they keep a function
// whose signature has changed: it stays beside them, under a name that no interface asks for.
type dropped map[*types.Func]int

func (d dropped) with(more []check.Method) dropped {
	if len(more) == 0 {
		return d
	}
	all := maps.Clone(d)
	for _, m := range more {
		all[m.Func.Origin()] = len(all) + 1
	}
	return all
}

// methodName is the name of a method in cells' packages.
func (d dropped) methodName(m *types.Func) string {
	if n := d[m.Origin()]; n > 0 {
		return fmt.Sprintf("d%s%d%s%s", mark, n, mark, m.Name())
	}
	return methodName(m)
}

// Keepers names the functions of earlier cells that call a method which its type has no more, as a user calls them, in order.
func (e *Engine) Keepers(f *types.Func) []string {
	return slices.DeleteFunc(e.Callers(f), func(name string) bool {
		return strings.HasPrefix(name, check.Receiver(f).Obj().Name()+"."+f.Name()+" (")
	})
}
