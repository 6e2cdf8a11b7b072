//go:build nvidia && linux

package nvml

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"cancha/runtime/gpu/driver"
)

// Library is NVIDIA's management library, open. Its methods may be called from any goroutine.
type Library struct{ all nvml.Interface }

// Open opens libnvidia-ml.so.1, once in a process: what came of it stays. The environment variable CANCHA_NVML names another file.
var Open = sync.OnceValues(func() (*Library, error) {
	var options []nvml.LibraryOption
	if path := os.Getenv("CANCHA_NVML"); path != "" {
		options = append(options, nvml.WithLibraryPath(path))
	}
	all := nvml.New(options...)
	if r := all.Init(); r != nvml.SUCCESS {
		return nil, fmt.Errorf("open NVIDIA's management library: %w", r)
	}
	return &Library{all}, nil
})

// find returns the GPU that has a UUID, in the form of driver.Info.
func (l *Library) find(uuid string) (nvml.Device, error) {
	d, r := l.all.DeviceGetHandleByUUID(uuid)
	if r != nvml.SUCCESS {
		return nil, fmt.Errorf("find GPU %s in NVIDIA's management library: %w", uuid, r)
	}
	return d, nil
}

// Read asks a GPU for all that it senses. What it does not tell, as a part of a divided GPU does not, is NaN.
func (l *Library) Read(uuid string) (driver.Reading, error) {
	all := driver.Reading{Utilization: math.NaN(), Memory: math.NaN(), Power: math.NaN(), Temperature: math.NaN()}
	d, err := l.find(uuid)
	if err != nil {
		return all, err
	}
	var errs []error
	set := func(at *float64, value float64, what string, r nvml.Return) {
		switch r {
		case nvml.SUCCESS:
			*at = value
		case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_NO_PERMISSION, nvml.ERROR_FUNCTION_NOT_FOUND:
		default:
			errs = append(errs, fmt.Errorf("ask GPU %s for its %s: %w", uuid, what, r))
		}
	}
	busy, r := d.GetUtilizationRates()
	set(&all.Utilization, float64(busy.Gpu)/100, "utilization", r)
	memory, r := d.GetMemoryInfo()
	set(&all.Memory, float64(memory.Used), "memory", r)
	milliwatts, r := d.GetPowerUsage()
	set(&all.Power, float64(milliwatts)/1000, "power", r)
	celsius, r := d.GetTemperature(nvml.TEMPERATURE_GPU)
	set(&all.Temperature, float64(celsius), "temperature", r)
	return all, errors.Join(errs...)
}

// Users lists the processes that compute on a GPU, those of containers under the machine's numbers.
func (l *Library) Users(uuid string) ([]driver.User, error) {
	d, err := l.find(uuid)
	if err != nil {
		return nil, err
	}
	found, r := d.GetComputeRunningProcesses()
	if r != nvml.SUCCESS {
		return nil, fmt.Errorf("ask GPU %s who uses it: %w", uuid, r)
	}
	all := make([]driver.User, len(found))
	for i, p := range found {
		all[i] = driver.User{PID: int(p.Pid), Program: program(int(p.Pid)), Memory: int64(p.UsedGpuMemory)}
		if all[i].Memory < 0 { // NVML_VALUE_NOT_AVAILABLE
			all[i].Memory = 0
		}
	}
	return all, nil
}

// program is the name of a process's program; "" where it cannot be seen.
func program(pid int) string {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
