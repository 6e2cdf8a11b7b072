package host

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"cancha/internal/blas"
	"cancha/runtime/gpu/driver"
)

// Driver finds one device: the CPU.
type Driver struct{}

// Devices lists the CPU.
func (Driver) Devices(context.Context) ([]driver.Info, error) {
	return []driver.Info{{
		Name: processor(), UUID: "host", Memory: memory(), Cores: runtime.GOMAXPROCS(0), BLAS: blas.New(blas.Pool{}).Name(),
	}}, nil
}

// Open takes the CPU, as often as it is asked for: all share its cores.
func (d Driver) Open(ctx context.Context, index int, o driver.Options) (driver.Device, error) {
	if index != 0 {
		return nil, fmt.Errorf("open device %d: the CPU is device 0: %w", index, driver.ErrNoDevice)
	}
	all, err := d.Devices(ctx)
	if err != nil {
		return nil, err
	}
	info := all[0]
	if o.Cores > 0 {
		info.Cores = o.Cores
	}
	return &Device{info: info, blas: blas.New(blas.Pool{Cores: info.Cores}), open: map[driver.Memory]bool{}, meminfo: meminfo}, nil
}

// Device is the CPU, open. Funcs of the user's own it does not take: they are CUDA's.
type Device struct {
	info driver.Info
	blas *blas.BLAS

	loaded driver.Loaded // libraries

	meminfo func(key string) (int64, error) // the system's; a test's own

	mu     sync.Mutex
	open   map[driver.Memory]bool
	closed bool
}

// Info tells what the CPU is.
func (d *Device) Info() driver.Info { return d.info }

// Free is what the system can still give.
func (d *Device) Free() (free, total int64, err error) {
	free, err = d.meminfo("MemAvailable")
	return free, d.info.Memory, err
}

// NewQueue returns a queue that runs each launch before it returns.
func (d *Device) NewQueue() (driver.Queue, error) {
	if err := d.usable(); err != nil {
		return nil, fmt.Errorf("make a queue: %w", err)
	}
	return &queue{device: d}, nil
}

// Load takes the funcs of a library: on the CPU they are Go, so there is nothing to make ready.
func (d *Device) Load(l *driver.Library) error { return d.loaded.Add(l, d.usable) }

// Close gives all memory back.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for m := range d.open {
		m.(*array).release()
	}
	clear(d.open)
	d.closed = true
	return nil
}

func (d *Device) usable() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return driver.ErrClosed
	}
	return nil
}

// processor is what the processor calls itself.
func processor() string {
	const key = "model name"
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH + " processor"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH + " processor"
}

// memory is how many bytes the machine has; 0 where the system does not tell.
func memory() int64 {
	total, err := meminfo("MemTotal")
	if err != nil {
		return 0
	}
	return total
}

// meminfo reads a line of /proc/meminfo, in bytes.
func meminfo(key string) (int64, error) {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read how much memory there is: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("read how much memory there is: /proc/meminfo has no %s", key)
}
