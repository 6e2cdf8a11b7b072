//go:build workspace

package native

import (
	"fmt"
	"plugin"
	"unsafe"
)

// CanLoad tells whether this engine can load compiled cells.
const CanLoad = true

// open loads a plugin and returns the function that ties its cell to the engine; host is a *support.Host.
func open(file string) (bind func(host any), err error) {
	p, err := plugin.Open(file)
	if err != nil {
		return nil, err
	}
	s, err := p.Lookup("Bind")
	if err != nil {
		return nil, err
	}
	f, ok := s.(*func(any))
	if !ok {
		return nil, fmt.Errorf("the plugin's Bind is a %T", s)
	}
	return *f, unify(file, unsafe.Pointer(f))
}
