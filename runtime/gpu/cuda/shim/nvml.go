//go:build nvidia && linux

package shim

// static int nvml_start(void *f) { return ((int (*)(void))f)(); }
// static int nvml_find(void *f, const char *uuid, void **d) { return ((int (*)(const char *, void **))f)(uuid, d); }
// static int nvml_busy(void *f, void *d, unsigned *busy) { return ((int (*)(void *, unsigned *))f)(d, busy); }
// static int nvml_memory(void *f, void *d, unsigned long long *memory) { return ((int (*)(void *, unsigned long long *))f)(d, memory); }
// static int nvml_power(void *f, void *d, unsigned *power) { return ((int (*)(void *, unsigned *))f)(d, power); }
// static int nvml_temperature(void *f, void *d, unsigned *celsius) { return ((int (*)(void *, int, unsigned *))f)(d, 0, celsius); }
// struct process { unsigned pid; unsigned long long memory; unsigned instance, part; };
// static int nvml_processes(void *f, void *d, unsigned *n, struct process *all) { return ((int (*)(void *, unsigned *, struct process *))f)(d, n, all); }
// static const char *nvml_error(void *f, int code) { return ((const char *(*)(int))f)(code); }
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// NVML is NVIDIA's management library, open. It tells what a GPU senses and who uses it; its methods may be called from any goroutine.
type NVML struct{ calls []unsafe.Pointer } // in the order of the constants below

const (
	nvmlStart = iota
	nvmlError
	nvmlFind
	nvmlBusy
	nvmlMemory
	nvmlPower
	nvmlTemperature
	nvmlProcesses
)

// OpenNVML opens the library, once in a process: what came of it stays. The environment variable CANCHA_NVML names another file.
var OpenNVML = sync.OnceValues(func() (*NVML, error) {
	names := []string{
		"nvmlInit_v2", "nvmlErrorString", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo",
		"nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature", "nvmlDeviceGetComputeRunningProcesses_v3",
	}
	calls, _, err := open("NVIDIA's management library", places("CANCHA_NVML", "nvml", "libnvidia-ml.so.1"), names)
	if err != nil {
		return nil, err
	}
	n := &NVML{calls}
	return n, n.fault("start", C.nvml_start(calls[nvmlStart]))
})

// NVMLError is an error of the management library.
type NVMLError struct {
	Code int
	Text string
}

func (e *NVMLError) Error() string {
	return fmt.Sprintf("NVIDIA's management library: error %d, %s", e.Code, e.Text)
}

// Untold tells whether the error says only that the value cannot be had from this GPU or by this user.
func (e *NVMLError) Untold() bool {
	const notSupported, noPermission = 3, 4
	return e.Code == notSupported || e.Code == noPermission
}

func (n *NVML) fault(doing string, code C.int) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, &NVMLError{int(code), C.GoString(C.nvml_error(n.calls[nvmlError], code))})
}

// Sensors is a GPU as the management library knows it.
type Sensors struct {
	library *NVML
	device  unsafe.Pointer
}

// Find returns the GPU with a UUID: "GPU-5f1c…".
func (n *NVML) Find(uuid string) (*Sensors, error) {
	name := C.CString(uuid)
	defer C.free(unsafe.Pointer(name))
	s := &Sensors{library: n}
	return s, n.fault("find GPU "+uuid, C.nvml_find(n.calls[nvmlFind], name, &s.device))
}

// Utilization is the share of the last moments in which any func ran, 0 to 1.
func (s *Sensors) Utilization() (float64, error) {
	var percent [2]C.uint // of time with a func, of time with memory traffic
	err := s.library.fault("ask for the utilization", C.nvml_busy(s.library.calls[nvmlBusy], s.device, &percent[0]))
	return float64(percent[0]) / 100, err
}

// Memory is how many bytes are in use.
func (s *Sensors) Memory() (float64, error) {
	var memory [3]C.ulonglong // there are, are free, are in use
	err := s.library.fault("ask for the memory", C.nvml_memory(s.library.calls[nvmlMemory], s.device, &memory[0]))
	return float64(memory[2]), err
}

// Power is what the GPU draws, in watts.
func (s *Sensors) Power() (float64, error) {
	var milliwatts C.uint
	err := s.library.fault("ask for the power", C.nvml_power(s.library.calls[nvmlPower], s.device, &milliwatts))
	return float64(milliwatts) / 1000, err
}

// Temperature is that of the GPU's chip, in °C.
func (s *Sensors) Temperature() (float64, error) {
	var celsius C.uint
	err := s.library.fault("ask for the temperature", C.nvml_temperature(s.library.calls[nvmlTemperature], s.device, &celsius))
	return float64(celsius), err
}

// Process is one that computes on a GPU.
type Process struct {
	PID    int
	Memory int64 // bytes of the GPU's; 0 where that is not told
}

// Processes lists who computes on the GPU, those of containers under the machine's numbers.
func (s *Sensors) Processes() ([]Process, error) {
	const most = 256 // more than any GPU has room for
	var found [most]C.struct_process
	n := C.uint(most)
	if err := s.library.fault("ask who uses the GPU", C.nvml_processes(s.library.calls[nvmlProcesses], s.device, &n, &found[0])); err != nil {
		return nil, err
	}
	all := make([]Process, n)
	for i := range all {
		all[i] = Process{int(found[i].pid), max(0, int64(found[i].memory))} // all bits are set where it is not told
	}
	return all, nil
}
