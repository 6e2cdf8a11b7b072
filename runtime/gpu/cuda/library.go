//go:build nvidia && linux

package cuda

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/driver"
)

// Load has the driver compile a library's PTX for the GPU, once.
func (d *Device) Load(l *driver.Library) error {
	return d.loaded.Add(l, func() error { return d.call(func() error { return d.bring(l) }) })
}

// bring makes a library's funcs ready. The context is current.
func (d *Device) bring(l *driver.Library) error {
	code, err := cu.LoadData(l.PTX())
	if err != nil {
		return fault(err)
	}
	entries := map[string]cu.Function{}
	for _, f := range l.Funcs() {
		if entries[f.Name], err = code.Function(f.Name); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", f.Name, fault(err)), fault(code.Unload()))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.code = append(d.code, code)
	for name, f := range entries {
		d.brought[name] = f
	}
	return nil
}
