package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"cancha/jobs/placement"
	"cancha/runtime/chart"
)

// figure is a chart, the name of its file, and how Markdown calls it.
type figure struct {
	file, title string
	chart       *chart.Chart
}

// mostTypes is how many job types a figure shows: those with the most jobs.
const mostTypes = 10

// figures are those for which there is something to show.
func figures(all []Record, m *Measures, source string) (out []figure, err error) {
	for _, draw := range []func([]Record, *Measures, string) (*figure, error){drawTimes, drawSpeedUp, drawThroughput, drawPredictions} {
		f, err := draw(all, m, source)
		if err != nil {
			return nil, fmt.Errorf("jobs/report: %w", err)
		}
		if f != nil {
			out = append(out, *f)
		}
	}
	return out, nil
}

// largest are the comparisons of the types with the most jobs, in their order, and in words what that leaves out.
func largest(m *Measures) (all []Comparison, rest string) {
	all = m.Comparisons()
	if one := m.alone(); len(all) > 0 && len(one) > 0 {
		rest = ". On one device alone, and left out: " + strings.Join(one[:min(len(one), 3)], ", ")
		if len(one) > 3 {
			rest += ", …"
		}
	}
	if len(all) <= mostTypes {
		return all, rest
	}
	n := func(c Comparison) int {
		return m.kinds[Kind{c.Type, placement.GPU}].jobs + m.kinds[Kind{c.Type, placement.CPU}].jobs
	}
	rest += fmt.Sprintf(". Types with fewer jobs that are left out: %d", len(all)-mostTypes)
	slices.SortStableFunc(all, func(a, b Comparison) int { return cmp.Compare(n(b), n(a)) })
	return all[:mostTypes], rest
}

// alone are the types that have completed on one device.
func (m *Measures) alone() (all []string) {
	for name, k := range m.kinds {
		other := m.kinds[Kind{name.Type, placement.GPU}]
		if name.Device == placement.GPU {
			other = m.kinds[Kind{name.Type, placement.CPU}]
		}
		if len(k.ran) > 0 && (other == nil || len(other.ran) == 0) {
			all = append(all, typed(name.Type))
		}
	}
	slices.Sort(all)
	return all
}

// drawTimes draws the mean times of types that ran on both devices; where there is none, of all.
func drawTimes(_ []Record, m *Measures, source string) (*figure, error) {
	both, rest := largest(m)
	o := chart.Options{Title: "Time by job type", Caption: source + rest}
	if len(both) == 0 {
		return drawAlone(m, o)
	}
	var labels []string
	var gpu, cpu []float64
	most := 0.0
	for _, c := range both {
		labels, gpu, cpu, most = append(labels, c.Type), append(gpu, c.GPU), append(cpu, c.CPU), max(most, c.GPU, c.CPU)
	}
	unit, in := scale(most)
	o.Width, o.Subtitle = room(labels), "Mean "+in+" that a job ran, lower is better"
	c, err := chart.Bars(labels, []chart.Series{{Name: "GPU", Y: times(gpu, unit)}, {Name: "CPU", Y: times(cpu, unit)}}, o)
	return &figure{"times.png", o.Title, c}, err
}

// drawAlone draws the mean times of types of which none ran on both devices.
func drawAlone(m *Measures, o chart.Options) (*figure, error) {
	var labels []string
	var means []float64
	for _, s := range m.Statistics() {
		if !math.IsNaN(s.Mean) && len(labels) < mostTypes {
			labels, means = append(labels, typed(s.Type)+" on "+device(s.Device)), append(means, s.Mean)
		}
	}
	if len(labels) == 0 {
		return nil, nil
	}
	unit, in := scale(slices.Max(means))
	o.Width, o.Subtitle = room(labels), "Mean "+in+" that a job ran; no type ran on a GPU and on a CPU"
	c, err := chart.Bar(labels, times(means, unit), o)
	return &figure{"times.png", o.Title, c}, err
}

// room is how wide a chart of bars has to be for their labels, in CSS pixels.
func room(labels []string) float64 {
	longest := 0
	for _, label := range labels {
		longest = max(longest, utf8.RuneCountInString(label))
	}
	return float64(min(max(640, 120+len(labels)*(12+7*longest)), 1400))
}

// scale is by what seconds are multiplied, and what they are then.
func scale(most float64) (unit float64, in string) {
	switch {
	case most < 2e-3:
		return 1e6, "microseconds"
	case most < 2:
		return 1e3, "milliseconds"
	case most < 600:
		return 1, "seconds"
	}
	return 1.0 / 60, "minutes"
}

func times(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}

// drawSpeedUp draws how many times as fast a GPU is: at the same work, if that is known of each type.
func drawSpeedUp(_ []Record, m *Measures, source string) (*figure, error) {
	both, rest := largest(m)
	var labels []string
	var all, same []float64
	for _, c := range both {
		if !math.IsInf(c.SpeedUp, 0) && !math.IsNaN(c.SpeedUp) {
			labels, all, same = append(labels, c.Type), append(all, c.SpeedUp), append(same, c.SameWork)
		}
	}
	if len(labels) == 0 {
		return nil, nil
	}
	o := chart.Options{Title: "Speed-up of the GPU at the same work",
		Subtitle: "CPU's time divided by the GPU's, by job type: above 1 the GPU is faster", Caption: source + rest}
	if slices.ContainsFunc(same, math.IsNaN) {
		same, o.Title = all, "Speed-up of the GPU, whatever it ran"
		o.Subtitle = "CPU's mean time divided by the GPU's, by job type, where the GPU's jobs may be larger"
	}
	o.Width = room(labels)
	c, err := chart.Bar(labels, same, o)
	return &figure{"speedup.png", o.Title, c}, err
}

// drawThroughput draws completed jobs a second over time.
func drawThroughput(all []Record, m *Measures, source string) (*figure, error) {
	if math.IsNaN(m.Throughput()) {
		return nil, nil
	}
	span := m.all.last - m.all.first
	width := span / bins(m.all.n)
	o := chart.Options{Title: "Throughput over time", YLabel: "jobs/s", XLabel: "since the first began", Caption: source,
		Subtitle: fmt.Sprintf("Completed jobs a second, in steps of %s; %s on average", placement.Seconds(width), factor(m.Throughput()))}
	var series []chart.Series
	for _, d := range []placement.Device{placement.GPU, placement.CPU} {
		if s := rates(all, d, m.all.first, width, int(bins(m.all.n))); s != nil {
			series = append(series, *s)
		}
	}
	if len(series) == 0 { // of a worker that did not say what it is
		return nil, nil
	}
	c, err := chart.Rates(series, o)
	return &figure{"throughput.png", o.Title, c}, err
}

// bins is into how many steps so many jobs are counted: ten jobs a step, four steps to sixty.
func bins(jobs int) float64 { return float64(min(max(jobs/10, 4), 60)) }

// rates counts the completed jobs of a device in steps of time; nil: there are none.
func rates(all []Record, d placement.Device, first, width float64, steps int) *chart.Series {
	s, n := chart.Series{Name: device(d), X: make([]float64, steps), Y: make([]float64, steps)}, 0
	for i := range s.X {
		s.X[i] = (float64(i) + 0.5) * width
	}
	for i := range all {
		if r := &all[i]; r.ran() && r.Device == d {
			s.Y[min(max(int((r.Completed-first)/width), 0), steps-1)] += 1 / width
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return &s
}

// drawPredictions draws measured over predicted times.
func drawPredictions(all []Record, _ *Measures, source string) (*figure, error) {
	var series []chart.Series
	for _, d := range []placement.Device{placement.GPU, placement.CPU} {
		s := chart.Series{Name: device(d), X: []float64{}}
		for i := range all {
			if r := &all[i]; r.ran() && r.Device == d && r.Predicted[d] > 0 && r.Ran > 0 {
				s.X, s.Y = append(s.X, r.Predicted[d]), append(s.Y, r.Ran)
			}
		}
		if len(s.X) > 0 {
			series = append(series, s)
		}
	}
	if len(series) == 0 {
		return nil, nil
	}
	o := chart.Options{Title: "Predicted and measured time", Subtitle: "Seconds of completed jobs; in the band within a factor of two",
		XLabel: "predicted, s", YLabel: "measured, s", Caption: source}
	c, err := chart.Agreement(series, o)
	return &figure{"predictions.png", o.Title, c}, err
}
