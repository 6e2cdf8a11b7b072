package native

import (
	"context"
	"fmt"
	"go/token"
	"reflect"

	"cancha/kernel/eval/native/support"
)

// exporter is the package that hands the engine what another package exports. It has the form of a cell's, as pluginMain wants it.
const exporter = `package main
import "reflect"
import ` + supportName + ` "` + supportPath + `"
import room %q
type ` + cellType + ` struct{}
func (` + cellType + `) Bind(host any) { host.(*` + supportName + `.Host).Symbols[%q] = reflect.ValueOf(room.%s) }
`

// Exported returns the value that a package exports under a name, a function say, which the toolchain can import and nothing loaded needs to
// have linked: it is loaded with what it imports. Each call loads it anew.
func (e *Engine) Exported(ctx context.Context, path, name string) (any, error) {
	if !token.IsIdentifier(name) || !token.IsExported(name) {
		return nil, fmt.Errorf("%q is no exported name", name)
	}
	u, err := e.Build(ctx, &Source{Text: fmt.Sprintf(exporter, path, name, name)})
	if err != nil {
		return nil, err
	}
	bind, err := open(e.tools.plugin(u))
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	h := &support.Host{Symbols: map[string]reflect.Value{}}
	bind(h)
	return h.Symbols[name].Interface(), nil
}
