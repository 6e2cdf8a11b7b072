package gpu

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cancha/runtime/gpu/driver"
	"cancha/runtime/grid"
)

// How often a GPU's sensors are read, and how many readings are kept: those of ten minutes.
const (
	samplesEvery = 200 * time.Millisecond
	samplesKept  = 3000
)

// Sample is what the session's GPU sensed at one time.
type Sample struct {
	At time.Duration // since the session's start
	driver.Reading
}

// MarshalJSON writes seconds and what is known of the reading, in its units.
func (s Sample) MarshalJSON() ([]byte, error) {
	all := map[string]float64{"seconds": s.At.Seconds()}
	for name, value := range map[string]float64{
		"utilization": s.Utilization, "memoryBytes": s.Memory, "powerWatts": s.Power, "temperatureCelsius": s.Temperature,
	} {
		if !math.IsNaN(value) {
			all[name] = value
		}
	}
	return json.Marshal(all)
}

// Samples are the readings of the session's GPU, five a second, the latest ten minutes. They show as a table.
type Samples struct {
	Device  string   `json:"device,omitempty"` // the GPU
	List    []Sample `json:"list"`
	Missing string   `json:"missing,omitempty"` // why there are none, or no more
}

// Samples returns what the GPU has sensed since the session began.
func (s *Session) Samples() Samples {
	s.mu.Lock()
	defer s.mu.Unlock()
	samples := s.samples
	samples.List = slices.Clone(samples.List)
	return samples
}

// Seconds returns the times of the readings since the session's start.
func (s Samples) Seconds() []float64 {
	return s.each(func(one Sample) float64 { return one.At.Seconds() })
}

// Utilization returns the share of time in which the GPU was busy, 0 to 1.
func (s Samples) Utilization() []float64 {
	return s.each(func(one Sample) float64 { return one.Reading.Utilization })
}

// Power returns what the GPU drew, in watts.
func (s Samples) Power() []float64 {
	return s.each(func(one Sample) float64 { return one.Reading.Power })
}

func (s Samples) each(of func(Sample) float64) []float64 {
	all := make([]float64, len(s.List))
	for i, one := range s.List {
		all[i] = of(one)
	}
	return all
}

// MIMEBundle shows the table.
func (s Samples) MIMEBundle() map[string]any { return s.grid().MIMEBundle() }

// String is the least, the mean and the largest of each reading.
func (s Samples) String() string { return s.grid().Text() }

func (s Samples) grid() grid.Grid {
	g := grid.Grid{Caption: s.Device, Header: []string{fmt.Sprint(len(s.List), " readings"), "least", "mean", "largest"}}
	if s.Missing != "" {
		g.Note = "no readings: " + s.Missing
	}
	if len(s.List) == 0 {
		return g
	}
	for _, row := range []struct {
		name  string
		unit  float64
		value func(Sample) float64
	}{
		{"utilization, %", .01, func(one Sample) float64 { return one.Reading.Utilization }},
		{"memory, MB", 1e6, func(one Sample) float64 { return one.Memory }},
		{"power, W", 1, func(one Sample) float64 { return one.Reading.Power }},
		{"temperature, °C", 1, func(one Sample) float64 { return one.Temperature }},
	} {
		line := []string{row.name}
		for _, v := range summary(s.each(row.value)) {
			line = append(line, known(v/row.unit))
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// known writes a value with three digits; "" where it is not known.
func known(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// summary is the least, the mean and the largest of the values that are known; NaN where none is.
func summary(values []float64) [3]float64 {
	values = slices.DeleteFunc(values, math.IsNaN)
	if len(values) == 0 {
		return [3]float64{math.NaN(), math.NaN(), math.NaN()}
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return [3]float64{slices.Min(values), sum / float64(len(values)), slices.Max(values)}
}

// readingsFailed is how many readings may fail in a row. Then there are no more: each costs time.
const readingsFailed = 5

// watch reads the GPU's sensors until stop is called, which waits for the last reading.
func (s *Session) watch(begun time.Time) (stop func()) {
	sensor, ok := s.sensor()
	if !ok {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(samplesEvery)
		defer ticks.Stop()
		for failed := 0; failed < readingsFailed; {
			failed++
			if s.sample(sensor, begun) {
				failed = 0
			}
			select {
			case <-ticks.C:
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// sensor is the GPU's, if it has one.
func (s *Session) sensor() (driver.Sensor, bool) {
	p := s.places[onGPU]
	if p == nil {
		s.samples.Missing = s.missing
		return nil, false
	}
	s.samples.Device = p.device.Info().Label()
	sensor, ok := p.device.(driver.Sensor)
	if !ok {
		s.samples.Missing = s.samples.Device + " has no sensors"
	}
	return sensor, ok
}

// sample keeps a reading.
func (s *Session) sample(sensor driver.Sensor, begun time.Time) bool {
	r, err := sensor.Read()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.samples.Missing = err.Error()
		return false
	}
	if len(s.samples.List) == samplesKept {
		s.samples.List = slices.Delete(s.samples.List, 0, samplesKept/10)
	}
	s.samples.List = append(s.samples.List, Sample{time.Since(begun), r})
	s.samples.Missing = ""
	return true
}
