package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// Kind is of which type jobs are, and on which device they ended; "": they never ran.
type Kind struct {
	Type   string
	Device placement.Device
}

// Statistics are those of jobs of one kind. Without a completed job that ran, times are NaN: one that has the result of a job before it, whose
// key it has, did not, so that it counts among Completed alone.
type Statistics struct {
	Kind
	Jobs, Completed     int
	Mean, Min, Max, P95 float64 // seconds that completed jobs ran
	Throughput          float64 // completed jobs a second; NaN: of fewer than two
	Predicted           int     // completed jobs of which the time was predicted
	Off, Bias           float64 // of these: see the package; NaN: there are none
}

// Comparison is how a type's jobs ran on both devices.
type Comparison struct {
	Type     string
	CPU, GPU float64 // mean seconds
	SpeedUp  float64 // CPU / GPU, of whatever ran there
	SameWork float64 // at the same work; NaN: there is none that both have run
	Works    int     // pieces of work that both have run
}

// Measures are those of results that are added one after another. The zero value is that of none.
type Measures struct {
	kinds map[Kind]*kind
	all   interval
}

// kind is what is kept of jobs of a kind.
type kind struct {
	ended    map[job.State]int
	jobs     int
	ran      []float64
	took     interval
	logs     float64 // sum of ln(measured / predicted)
	off      float64 // of |…|
	expected int
	works    map[string]mean
}

type mean struct {
	n   int
	sum float64
}

func (m mean) value() float64 { return m.sum / float64(m.n) }

// interval is from the first begin to the last end of completed jobs.
type interval struct {
	n           int
	first, last float64
}

func (i *interval) add(r *Record) {
	if i.n == 0 {
		i.first, i.last = r.Begin(), r.Completed
	}
	i.n, i.first, i.last = i.n+1, min(i.first, r.Begin()), max(i.last, r.Completed)
}

// rate is in jobs a second; NaN of a single one, whose time says nothing of others.
func (i *interval) rate() float64 {
	if i.n < 2 || !(i.last > i.first) {
		return math.NaN()
	}
	return float64(i.n) / (i.last - i.first)
}

// Add takes a result in.
func (m *Measures) Add(r *Record) {
	if m.kinds == nil {
		m.kinds = map[Kind]*kind{}
	}
	name := Kind{r.Type, r.Device}
	k := m.kinds[name]
	if k == nil {
		k = &kind{ended: map[job.State]int{}, works: map[string]mean{}}
		m.kinds[name] = k
	}
	k.jobs++
	k.ended[r.Status]++
	if !r.ran() {
		return
	}
	m.all.add(r)
	k.add(r)
}

func (k *kind) add(r *Record) {
	k.ran = append(k.ran, r.Ran)
	k.took.add(r)
	if p := r.Predicted[r.Device]; p > 0 && r.Ran > 0 {
		log := math.Log(r.Ran / p)
		k.expected, k.logs, k.off = k.expected+1, k.logs+log, k.off+math.Abs(log)
	}
	if r.Work != "" {
		w := k.works[r.Work]
		k.works[r.Work] = mean{w.n + 1, w.sum + r.Ran}
	}
}

// Jobs is how many were added.
func (m *Measures) Jobs() (n int) {
	for _, k := range m.kinds {
		n += k.jobs
	}
	return n
}

// Throughput is of all jobs together, in completed ones a second; NaN: of fewer than two.
func (m *Measures) Throughput() float64 { return m.all.rate() }

// Statistics are those of each kind, by type and then device, the GPU first.
func (m *Measures) Statistics() (all []Statistics) {
	for name, k := range m.kinds {
		s := Statistics{Kind: name, Jobs: k.jobs, Completed: k.ended[job.Completed], Throughput: k.took.rate(), Predicted: k.expected}
		sorted := slices.Sorted(slices.Values(k.ran))
		s.Mean, s.Min, s.Max, s.P95 = average(sorted), Quantile(sorted, 0), Quantile(sorted, 1), Quantile(sorted, 0.95)
		s.Off, s.Bias = math.Exp(k.off/float64(k.expected)), math.Exp(k.logs/float64(k.expected))
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Statistics) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), -cmp.Compare(a.Device, b.Device))
	})
	return all
}

// Comparisons are those of each type that completed on both devices, by type.
func (m *Measures) Comparisons() (all []Comparison) {
	for _, name := range slices.SortedFunc(maps.Keys(m.kinds), func(a, b Kind) int { return cmp.Compare(a.Type, b.Type) }) {
		gpu, cpu := m.kinds[name], m.kinds[Kind{name.Type, placement.CPU}]
		if name.Device != placement.GPU || cpu == nil || len(cpu.ran) == 0 || len(gpu.ran) == 0 {
			continue
		}
		c := Comparison{Type: name.Type, CPU: average(cpu.ran), GPU: average(gpu.ran)}
		c.SpeedUp = c.CPU / c.GPU
		c.SameWork, c.Works = sameWork(cpu.works, gpu.works)
		all = append(all, c)
	}
	return all
}

// sameWork is the geometric mean of the ratios of means over the pieces of work that both have run; what took no time to measure is left out.
func sameWork(cpu, gpu map[string]mean) (ratio float64, works int) {
	logs := 0.0
	for _, name := range slices.Sorted(maps.Keys(cpu)) { // in one order, so that the sum is one
		if g, both := gpu[name]; both && cpu[name].sum > 0 && g.sum > 0 {
			logs, works = logs+math.Log(cpu[name].value()/g.value()), works+1
		}
	}
	return math.Exp(logs / float64(works)), works
}

// average is the arithmetic mean; NaN of none.
func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Quantile is the value at the place p·(n-1) of n ascending values, from 0, with linear interpolation: type 7 of Hyndman and Fan. p is from
// 0 to 1; NaN of none.
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	low := int(at)
	if low >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
