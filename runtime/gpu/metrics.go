package gpu

import "time"

// Metrics is what a session has done so far. Times are those of the devices; copies count both ways.
type Metrics struct {
	Operations  [2]int           `json:"operations"` // on the CPU, on the GPU
	Launches    int              `json:"launches"`   // on the GPU
	FuncTime    [2]time.Duration `json:"funcTime"`   // of funcs, without copies
	CopyIn      time.Duration    `json:"copyIn"`     // to the GPU
	CopyOut     time.Duration    `json:"copyOut"`    // from it
	BytesIn     int64            `json:"bytesIn"`
	BytesOut    int64            `json:"bytesOut"`
	Wait        time.Duration    `json:"wait"` // of operations for their turn
	PeakMemory  int64            `json:"peakMemory"`
	OutOfMemory int              `json:"outOfMemory"` // allocations that the GPU refused
	Evicted     int64            `json:"evicted"`     // bytes that were moved away for others
	Fallbacks   int              `json:"fallbacks"`   // operations that went to the CPU for want of memory, or of the GPU
}

// Metrics returns what the session has done so far.
func (s *Session) Metrics() Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.metrics
	if p := s.places[onGPU]; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		m.PeakMemory = p.peak
	}
	return m
}
