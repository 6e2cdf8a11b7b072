package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cancha/runtime/gpu/driver"
)

// Discovery is what GPUs a machine has.
type Discovery struct {
	Devices []Device
	Missing string // why there is none; "" where there is one
}

// Device is a GPU that was found.
type Device struct {
	driver.Info
	driver driver.Driver
}

// Discover lists the GPUs of the machine. That there is none is no error: Missing says why.
func Discover(ctx context.Context) Discovery {
	found, err := discover(ctx, nil)
	if err != nil {
		found.Missing = err.Error()
	}
	return found
}

// unlinked is why a program that was built without -tags nvidia has no GPU.
const unlinked = `this Cancha is built without GPU code; for an NVIDIA GPU, "make cuda" builds one with it`

// Linked tells whether this program was built with -tags nvidia: one that was not finds no GPU, whatever the machine has.
func Linked() bool { return len(linked()) > 0 }

func discover(ctx context.Context, drivers []driver.Driver) (found Discovery, err error) {
	if drivers == nil {
		drivers = linked()
	}
	var reasons []error
	for _, d := range drivers {
		all, err := d.Devices(ctx)
		for _, info := range all {
			found.Devices = append(found.Devices, Device{info, d})
		}
		reasons = append(reasons, err)
	}
	if len(found.Devices) > 0 {
		return found, nil
	}
	if err := errors.Join(reasons...); err != nil {
		return found, err
	}
	return found, driver.NoDevice(errors.New(unlinked))
}

// match returns the devices that a UUID, or a place in the list, names; all of them for "".
func (f Discovery) match(name string) (all []Device) {
	for i, d := range f.Devices {
		if name == "" || name == d.UUID || name == strconv.Itoa(i) {
			all = append(all, d)
		}
	}
	return all
}

// String lists the devices in a line.
func (f Discovery) String() string {
	if len(f.Devices) == 0 {
		return "no GPU: " + f.Missing
	}
	names := make([]string, len(f.Devices))
	for i, d := range f.Devices {
		names[i] = fmt.Sprintf("%d: %s (%s, %.1f GB, compute capability %s, driver %s)", i, d.Label(), d.UUID, float64(d.Memory)/1e9, d.Capability, d.Driver)
	}
	return strings.Join(names, "; ")
}

// Spark is the line that Spark's discovery scripts print (spark.worker.resource.gpu.discoveryScript): {"name":"gpu","addresses":["0"]}.
func (f Discovery) Spark() string {
	addresses := make([]string, len(f.Devices))
	for i := range f.Devices {
		addresses[i] = strconv.Itoa(i)
	}
	raw, _ := json.Marshal(struct { // strings marshal
		Name      string   `json:"name"`
		Addresses []string `json:"addresses"`
	}{"gpu", addresses})
	return string(raw)
}
