//go:build nvidia && linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// module is a user's compiled source.
type module struct {
	device *Device
	loaded cu.Module
	funcs  map[string]function
}

// function is a __global__ function: parameters are as PTX has them, "u64", "u32", "f32".
type function struct {
	entry  cu.Function
	params []string
}

// Compile makes PTX of a source by NVRTC, which pip install nvidia-cuda-nvrtc-cu12 brings, for the least compute capability that our own
// funcs take. What is wrong with the source names its line, as "source.cu(3): error: …". A function's name is its own if it is extern "C" or
// stands in no namespace or class. ctx ends nothing once the compiler runs; it takes parts of a second.
func (d *Device) Compile(ctx context.Context, source string) (driver.Module, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	c, err := shim.OpenCompiler()
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	ptx, err := c.Compile(source, "source.cu", fmt.Sprint("compute_", leastCapability))
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	m := &module{device: d, funcs: map[string]function{}}
	err = d.call(func() error {
		if err := m.load(ptx); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.modules[m] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load what NVRTC %s made: %w", c.Version, err)
	}
	return m, nil
}

func (m *module) load(ptx string) (err error) {
	if m.loaded, err = cu.LoadData(ptx); err != nil {
		if err = told(err); errors.Is(err, shim.Result(222)) {
			return fmt.Errorf("%w: the compiler is newer than the driver: an older nvidia-cuda-nvrtc is wanted", err)
		}
		return fault(err)
	}
	for _, name := range entries(ptx) {
		f := function{params: parametersOf(ptx, name)}
		if f.entry, err = m.loaded.Function(name); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", name, fault(err)), fault(m.loaded.Unload()))
		}
		m.funcs[plain(name)] = f
	}
	return nil
}

// entries are the names of the functions in PTX that can be launched.
func entries(ptx string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:\.visible\s+)?\.entry\s+([\w$]+)`).FindAllStringSubmatch(ptx, -1) {
		names = append(names, m[1])
	}
	return names
}

// parametersOf are the types of a function's parameters.
func parametersOf(ptx, name string) (types []string) {
	list := regexp.MustCompile(`\.entry\s+` + regexp.QuoteMeta(name) + `\s*\(([^)]*)\)`).FindStringSubmatch(ptx)
	if list == nil {
		return nil // it has none
	}
	for _, p := range regexp.MustCompile(`\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)`).FindAllStringSubmatch(list[1], -1) {
		types = append(types, p[1])
	}
	return types
}

// plain is the name of a function as its source has it: C++ writes _Z, the length of the name, the name, and its parameters.
func plain(name string) string {
	rest, ok := strings.CutPrefix(name, "_Z")
	if !ok {
		return name
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil || len(digits)+n > len(rest) {
		return name
	}
	return rest[len(digits):][:n]
}

// Funcs are the names of the functions.
func (m *module) Funcs() []string { return slices.Sorted(maps.Keys(m.funcs)) }

// Close unloads the functions, when what was launched has run.
func (m *module) Close() error {
	err := m.device.call(func() error {
		d := m.device
		d.mu.Lock()
		open := d.modules[m]
		delete(d.modules, m)
		d.mu.Unlock()
		if !open {
			return driver.ErrClosed
		}
		if err := cu.Synchronize(); err != nil {
			return fault(err)
		}
		return fault(m.loaded.Unload())
	})
	if err != nil {
		return fmt.Errorf("close a module: %w", err)
	}
	return nil
}

// launchModule launches a user's function, if its arguments are what it takes.
func (q *queue) launchModule(l driver.Launch) error {
	m, ok := l.Module.(*module)
	if !ok || m.device != q.device {
		return fmt.Errorf("a module of another device: %w", driver.ErrLaunch)
	}
	q.device.mu.Lock()
	open := q.device.modules[m]
	q.device.mu.Unlock()
	f, known := m.funcs[l.Func]
	switch {
	case !open:
		return driver.ErrClosed
	case !known:
		return fmt.Errorf("the module has no such func, only %s: %w", strings.Join(m.Funcs(), ", "), driver.ErrLaunch)
	case min(l.Grid[0], l.Grid[1], l.Grid[2], l.Block[0], l.Block[1], l.Block[2]) < 1:
		return fmt.Errorf("a grid of %v blocks of %v threads: all must be 1 at least: %w", l.Grid, l.Block, driver.ErrLaunch)
	case len(l.Args) != len(f.params):
		return fmt.Errorf("%d arguments for %d parameters: %w", len(l.Args), len(f.params), driver.ErrLaunch)
	}
	for i, a := range l.Args {
		if !takes(f.params[i], a.Kind) {
			return fmt.Errorf("argument %d is %v, and the func takes .%s there: it can be given pointers, int, float, long long and double: %w", i, a, f.params[i], driver.ErrLaunch)
		}
	}
	args, err := q.arguments(l.Args)
	if err != nil {
		return err
	}
	return q.run(f.entry, l.Grid, l.Block, l.Shared, args)
}

// takes tells whether a parameter of PTX can be an argument of a kind.
func takes(param string, kind driver.ArgKind) bool {
	switch kind {
	case driver.MemoryArg:
		return param == "u64" || param == "b64"
	case driver.IntArg:
		return param == "u32" || param == "s32" || param == "b32"
	case driver.FloatArg:
		return param == "f32"
	case driver.LongArg:
		return param == "u64" || param == "s64" || param == "b64"
	case driver.DoubleArg:
		return param == "f64"
	}
	return false
}
