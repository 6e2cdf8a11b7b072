package gpu

import (
	"fmt"
	"strconv"
	"time"

	"cancha/runtime/grid"
)

// Metrics is what a session has done so far. Times are those of the devices; copies count both ways.
type Metrics struct {
	GPU         string           `json:"gpu,omitempty"`       // its name
	Operations  [2]int           `json:"operations"`          // on the CPU, on the GPU
	Launches    int              `json:"launches"`            // on the GPU
	FuncTime    [2]time.Duration `json:"funcTimeNanoseconds"` // of funcs, without copies; on the CPU, on the GPU
	CopyIn      time.Duration    `json:"copyInNanoseconds"`   // to the GPU
	CopyOut     time.Duration    `json:"copyOutNanoseconds"`  // from it
	BytesIn     int64            `json:"bytesIn"`
	BytesOut    int64            `json:"bytesOut"`
	Wait        time.Duration    `json:"waitNanoseconds"` // of operations for their turn
	PeakMemory  int64            `json:"peakMemory"`      // bytes of the GPU's
	OutOfMemory int              `json:"outOfMemory"`     // allocations that the GPU refused
	Evicted     int64            `json:"evicted"`         // bytes that were moved away for others
	Fallbacks   int              `json:"fallbacks"`       // operations that went to the CPU for want of memory, or of the GPU
}

// Metrics returns what the session has done so far.
func (s *Session) Metrics() Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.metrics
	if p := s.places[onGPU]; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		m.GPU, m.PeakMemory = p.device.Info().Label(), p.peak
	}
	return m
}

// MIMEBundle shows the metrics as a table.
func (m Metrics) MIMEBundle() map[string]any { return m.grid().MIMEBundle() }

// String is the table as text.
func (m Metrics) String() string { return m.grid().Text() }

func (m Metrics) grid() grid.Grid {
	return grid.Grid{
		Caption: m.GPU,
		Header:  []string{"", "CPU", "GPU"},
		Rows: [][]string{
			{"operations", strconv.Itoa(m.Operations[onCPU]), strconv.Itoa(m.Operations[onGPU])},
			{"time of funcs", brief(m.FuncTime[onCPU]), brief(m.FuncTime[onGPU])},
			{"launches", "", strconv.Itoa(m.Launches)},
			{"copied to it", "", moved(m.BytesIn, m.CopyIn)},
			{"copied back", "", moved(m.BytesOut, m.CopyOut)},
			{"peak memory", "", megabytes(m.PeakMemory)},
			{"refused for want of memory", "", strconv.Itoa(m.OutOfMemory)},
			{"moved away for others", "", megabytes(m.Evicted)},
			{"went to the CPU instead", strconv.Itoa(m.Fallbacks), ""},
		},
		Note: "waited for a turn: " + brief(m.Wait),
	}
}

func moved(bytes int64, took time.Duration) string {
	if bytes == 0 {
		return "nothing"
	}
	return megabytes(bytes) + " in " + brief(took)
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }
