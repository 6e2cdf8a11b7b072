//go:build nvidia && linux

package cuda

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// Read asks NVIDIA's management library, which may be missing where the driver is not. What it does not tell, as of a part of a divided
// GPU, is NaN.
func (d *Device) Read() (driver.Reading, error) {
	all := driver.Reading{Utilization: math.NaN(), Memory: math.NaN(), Power: math.NaN(), Temperature: math.NaN()}
	sensors, err := find(d.info.UUID)
	if err != nil {
		return all, err
	}
	var errs []error
	for at, read := range map[*float64]func() (float64, error){
		&all.Utilization: sensors.Utilization, &all.Memory: sensors.Memory, &all.Power: sensors.Power, &all.Temperature: sensors.Temperature,
	} {
		value, err := read()
		var untold *shim.NVMLError
		switch {
		case err == nil:
			*at = value
		case errors.As(err, &untold) && untold.Untold():
		default:
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

func find(uuid string) (*shim.Sensors, error) {
	library, err := shim.OpenNVML()
	if err != nil {
		return nil, err
	}
	return library.Find(uuid)
}

// users lists who computes on a GPU; nobody where NVIDIA's management library does not tell.
func users(uuid string) []driver.User {
	sensors, err := find(uuid)
	if err != nil {
		return nil
	}
	found, err := sensors.Processes()
	if err != nil {
		return nil
	}
	all := make([]driver.User, len(found))
	for i, p := range found {
		all[i] = driver.User{PID: p.PID, Program: program(p.PID), Memory: p.Memory}
	}
	return all
}

// program is the name of a process's program; "" where it cannot be seen.
func program(pid int) string {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
