//go:build nvidia && linux

package cuda

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// kernels is made of kernels.cu by scripts/ptx.py.
//
//go:embed kernels.ptx
var kernels string

// What kernels.ptx takes: its target, and the driver that knows its version of PTX (7.8, of CUDA 11.8).
const (
	leastCapability = 80
	leastVersion    = 11080
	leastDriver     = "520"
)

// Driver finds NVIDIA's GPUs. The driver's library is opened the first time that one is asked for, once in a process.
type Driver struct{}

// Devices lists the GPUs that this process may see (CUDA_VISIBLE_DEVICES).
func (Driver) Devices(context.Context) ([]driver.Info, error) {
	n, err := count()
	if err != nil {
		return nil, err
	}
	all := make([]driver.Info, n)
	for i := range all {
		if all[i], err = describe(i); err != nil {
			return nil, fmt.Errorf("describe GPU %d: %w", i, err)
		}
	}
	return all, nil
}

// count opens the driver and tells how many GPUs it has.
func count() (int, error) {
	if err := shim.Open(); err != nil {
		return 0, driver.NoDevice(err)
	}
	if v := cu.Version(); v < leastVersion {
		return 0, driver.NoDevice(fmt.Errorf("the NVIDIA driver is too old: it knows CUDA %s, and %s is wanted, which driver %s brings",
			version(v), version(leastVersion), leastDriver))
	}
	n, err := cu.NumDevices()
	if err != nil {
		return 0, fmt.Errorf("count GPUs: %w", told(err))
	}
	if n == 0 {
		return 0, driver.NoDevice(errors.New("the NVIDIA driver lists no GPU"))
	}
	return n, nil
}

// version writes a version as CUDA has it: 1000 times the first number and 10 times the second.
func version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

func describe(index int) (info driver.Info, err error) {
	d, err := cu.GetDevice(index)
	if err != nil {
		return info, told(err)
	}
	info = driver.Info{Index: index, Driver: driverVersion(), Emulated: shim.Emulated()}
	if info.Name, err = d.Name(); err != nil {
		return info, told(err)
	}
	uuid, err := d.UUID()
	if err != nil {
		return info, told(err)
	}
	info.UUID = "GPU-" + uuid.String()
	if info.Memory, err = d.TotalMem(); err != nil {
		return info, told(err)
	}
	var capability [2]int
	for i, a := range []cu.DeviceAttribute{cu.ComputeCapabilityMajor, cu.ComputeCapabilityMinor} {
		if capability[i], err = d.Attribute(a); err != nil {
			return info, told(err)
		}
	}
	info.Capability = fmt.Sprintf("%d.%d", capability[0], capability[1])
	if info.Cores, err = d.Attribute(cu.MultiprocessorCount); err != nil {
		return info, told(err)
	}
	info.Users = users(info.UUID)
	return info, nil
}

// driverVersion is the version of the kernel module, which is the one that people know the driver by; else that of CUDA in libcuda.
func driverVersion() string {
	if shim.Emulated() {
		return "CPU emulation"
	}
	raw, err := os.ReadFile("/proc/driver/nvidia/version")
	if err == nil {
		if v := regexp.MustCompile(`\d{3,}\.\d+(\.\d+)?`).Find(raw); v != nil {
			return string(v)
		}
	}
	return "CUDA " + version(cu.Version())
}

// Open takes a GPU. A process may open it more than once.
func (Driver) Open(ctx context.Context, index int, o driver.Options) (driver.Device, error) {
	n, err := count()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= n {
		return nil, fmt.Errorf("open GPU %d: there are %d: %w", index, n, driver.ErrNoDevice)
	}
	info, err := describe(index)
	if err != nil {
		return nil, fmt.Errorf("open GPU %d: %w", index, err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(info.Capability, "%d.%d", &major, &minor); err != nil || 10*major+minor < leastCapability {
		return nil, fmt.Errorf("open GPU %d: %s has compute capability %s, and 8.0 is the least that our funcs take: %w", index, info.Name, info.Capability, driver.ErrNoDevice)
	}
	d, err := open(info, o)
	if err != nil {
		return nil, fmt.Errorf("open GPU %d: %w", index, err)
	}
	return d, nil
}
