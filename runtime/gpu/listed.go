package gpu

import (
	"math"

	"cancha/internal/running"
)

// listed is a session as the list of what runs knows it.
type listed struct{ s *Session }

// Kind implements running.Thing.
func (l listed) Kind() running.Kind { return running.GPU }

// Name implements running.Thing.
func (l listed) Name() string {
	cpu, gpu := l.s.Devices()
	if gpu != nil {
		return gpu.Label()
	}
	return cpu.Label()
}

// Device implements running.Device.
func (l listed) Device() running.DeviceState {
	m := l.s.Metrics()
	d := running.DeviceState{
		GPU: m.GPU, Missing: l.s.missing, Operations: m.Operations, Seconds: [2]float64{m.FuncTime[onCPU].Seconds(), m.FuncTime[onGPU].Seconds()},
		Launches: m.Launches, BytesIn: m.BytesIn, BytesOut: m.BytesOut, PeakMemory: m.PeakMemory, Fallbacks: m.Fallbacks,
	}
	if r, ok := l.s.latest(); ok {
		d.Utilization, d.Memory, d.Power, d.Temperature = sensed(r.Utilization), sensed(r.Memory), sensed(r.Power), sensed(r.Temperature)
	}
	return d
}

// latest is the newest reading of the GPU's sensors.
func (s *Session) latest() (Sample, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.samples.List)
	if n == 0 {
		return Sample{}, false
	}
	return s.samples.List[n-1], true
}

// sensed is a value that a sensor knows; nil where it does not.
func sensed(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// Last implements running.Laster.
func (l listed) Last() running.Thing { return worked{l.Name(), l.Device()} }

// worked is what stays listed of a session that is closed.
type worked struct {
	name string
	last running.DeviceState
}

// Kind implements running.Thing.
func (w worked) Kind() running.Kind { return running.GPU }

// Name implements running.Thing.
func (w worked) Name() string { return w.name }

// Device implements running.Device.
func (w worked) Device() running.DeviceState { return w.last }
