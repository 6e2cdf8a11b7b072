package compare

import (
	"fmt"
	"math"
	"strings"

	"cancha/runtime/chart"
	"cancha/runtime/gpu"
)

// Sensors draws what a GPU has sensed over time: how busy it was, the memory in use, what it drew and how warm it was, each as a share of its
// largest value, which the legend names. What the GPU does not tell has no line. Without readings it fails with the reason.
func Sensors(s gpu.Samples) (*chart.Chart, error) {
	if len(s.List) == 0 {
		return nil, fmt.Errorf("compare: no readings of a GPU's sensors: %s", s.Missing)
	}
	var lines []chart.Series
	for _, sense := range []struct {
		name, form string // of its largest value
		unit       float64
		value      func(gpu.Sample) float64
	}{
		{"busy", "%.0f %%", .01, func(one gpu.Sample) float64 { return one.Utilization }},
		{"memory", "%.0f MB", 1e6, func(one gpu.Sample) float64 { return one.Memory }},
		{"power", "%.0f W", 1, func(one gpu.Sample) float64 { return one.Power }},
		{"temperature", "%.0f °C", 1, func(one gpu.Sample) float64 { return one.Temperature }},
	} {
		line, largest := chart.Series{}, 0.0
		for _, one := range s.List {
			if v := sense.value(one); !math.IsNaN(v) {
				line.X, line.Y = append(line.X, one.At.Seconds()), append(line.Y, v)
				largest = max(largest, v)
			}
		}
		if largest == 0 {
			continue
		}
		for i := range line.Y {
			line.Y[i] *= 100 / largest
		}
		line.Name = sense.name + ", of " + fmt.Sprintf(sense.form, largest/sense.unit)
		lines = append(lines, line)
	}
	title := "What the GPU sensed"
	if strings.Contains(s.Device, "CPU emulation") { // as a device's label says it
		title = "What a CPU emulation of a GPU made up"
	}
	return chart.Rates(lines, chart.Options{
		Title: title, Subtitle: "each in % of its largest value", XLabel: "time since the session began", Caption: s.Device,
	})
}
