package placement

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// History is what was measured: how long runs took beside what their cost says. The zero History is empty and ready. It is of one goroutine
// at a time.
//
// It averages x = ln(seconds / cost) by [Key], so what it knows holds for all sizes of a bucket, and not for its middle. Of work without a
// cost, a cost of one second is taken. Errors of times are factors, which is why it averages logarithms: StarPU averages seconds, for each
// exact size.
//
// A key with few runs borrows from the type's other sizes on the same device, and these from the cost:
//
//	prior = Σ wᵢ meanᵢ / (Σ wᵢ + ½)        of the type's other buckets, wᵢ = min(nᵢ, 8) · 0.7^|bucketᵢ − bucket|; the cost is half a run at 0
//	μ     = (n mean + w prior) / (n + w)    of the bucket itself; w, what the prior rests on, is at most one run
//
// and the variances likewise, with that of the means about the prior. This is partial pooling (Gelman and others, Bayesian Data Analysis,
// chapter 5), with weights that are chosen and not estimated.
type History struct {
	types  map[string]map[place]buckets
	size   int                // entries
	turn   int64              // of the newest measurement
	pooled map[question]known // answers since then: a plan asks the same for many jobs
	paces  map[place]*paces   // of the workers that are there; it is not kept, for they may be others after a restart
}

// question is what is asked about.
type question struct {
	Key
	cost bool
}

// place is where runs are alike.
type place struct {
	device Device
	model  string
}

// buckets are all sizes of a type, in one place.
type buckets map[int]*entry

// entry is what is known of a key.
type entry struct {
	Average
	cold bool
	turn int64 // when it was measured last
}

// Knows tells whether a job of a type was measured.
func (h *History) Knows(kind string) bool { return h.types[kind] != nil }

// weight is how many runs it is worth to other sizes.
func (e *entry) weight() float64 {
	if e.cold {
		return 0
	}
	return float64(min(e.Count, settled))
}

// Key is under what runs are averaged.
type Key struct {
	Type   string `json:"type"`
	Bucket int    `json:"bucket"` // ⌊log2⌋ of the work's size
	Device Device `json:"device"`
	Model  string `json:"model"` // of the device, as its worker calls it; "" where it has no name
}

func (k Key) place() place { return place{k.Device, k.Model} }

// Measurement is an average with its key, as a store keeps it.
type Measurement struct {
	Key
	Average
	Cold bool `json:"cold,omitempty"` // it is of one run, added by [History.AddCold]
}

// mostKeys bounds a history: types are texts from outside. Beyond, the key goes that was measured the longest ago.
const mostKeys = 10_000

// Add takes in that a run has taken so many seconds on a worker, which is as it was when the job was placed, and returns what is known of
// its key now. An error tells of seconds that no run takes, and of work that is none; nothing is added then. Runs that failed or were
// cancelled are not to be added.
func (h *History) Add(w Work, on Worker, seconds float64) (Measurement, error) {
	return h.add(w, on, seconds, false)
}

// AddCold is Add for the first run of a type since its worker has started: it may have loaded libraries and compiled code, and have taken a
// hundred times as long as the next one. It counts only as long as nothing else is known of the key.
func (h *History) AddCold(w Work, on Worker, seconds float64) (Measurement, error) {
	return h.add(w, on, seconds, true)
}

func (h *History) add(w Work, on Worker, seconds float64, cold bool) (Measurement, error) {
	k := Key{w.Type, w.bucket(), on.Device, on.Model}
	if !(seconds >= 0) || math.IsInf(seconds, 0) {
		return Measurement{}, fmt.Errorf("placement: a run of %v s; a number from 0", seconds)
	}
	if err := w.Validate(); err != nil {
		return Measurement{}, err
	}
	if err := k.validate(); err != nil {
		return Measurement{}, err
	}
	cost, known := on.cost(w)
	x := math.Log(min(max(seconds, shortest), longest) / cost)
	if !cold {
		h.keepPace(k, on, x-h.ask(question{k, known}).mean)
	}
	e := h.entry(k)
	if e.cold && !cold {
		e.Average, e.cold = Average{}, false
	}
	if e.Count == 0 || !cold {
		e.Average.Add(x)
		e.cold = cold
	}
	return Measurement{k, e.Average, e.cold}, nil
}

// shortest is below any run and any cost, in seconds: both have logarithms.
const shortest = 1e-9

// entry returns that of a key, a new one if need be, and has it be the newest.
func (h *History) entry(k Key) *entry {
	e := h.types[k.Type][k.place()][k.Bucket]
	if e == nil {
		if h.size == mostKeys {
			h.forget(h.keys()[0])
		}
		e = &entry{}
		h.insert(k, e)
	}
	h.turn++
	e.turn = h.turn
	h.pooled = nil
	return e
}

func (h *History) insert(k Key, e *entry) {
	if h.types == nil {
		h.types = map[string]map[place]buckets{}
	}
	if h.types[k.Type] == nil {
		h.types[k.Type] = map[place]buckets{}
	}
	if h.types[k.Type][k.place()] == nil {
		h.types[k.Type][k.place()] = buckets{}
	}
	h.types[k.Type][k.place()][k.Bucket] = e
	h.size++
}

func (h *History) forget(k Key) {
	delete(h.types[k.Type][k.place()], k.Bucket)
	if len(h.types[k.Type][k.place()]) == 0 {
		delete(h.types[k.Type], k.place())
	}
	if len(h.types[k.Type]) == 0 {
		delete(h.types, k.Type)
	}
	h.size--
}

// keys lists all, the one measured last behind the others.
func (h *History) keys() []Key {
	all := make([]Key, 0, h.size)
	for kind, places := range h.types {
		for p, sizes := range places {
			for b := range sizes {
				all = append(all, Key{kind, b, p.device, p.model})
			}
		}
	}
	turn := func(k Key) int64 { return h.types[k.Type][k.place()][k.Bucket].turn }
	slices.SortFunc(all, func(a, b Key) int { return cmp.Compare(turn(a), turn(b)) })
	return all
}

// known is what the history has to say of a key.
type known struct {
	mean, variance float64
	runs           int64   // of the key itself
	weight         float64 // runs that it rests on, others' in part
}

const (
	fade       = 0.7  // of what another bucket says, for each doubling that lies between
	costRuns   = 0.5  // runs that the cost is worth
	costSigma  = 0.5  // standard deviation of ln(seconds/cost) where nothing was measured: a factor of 1.6, two times in three
	guessRuns  = 0.02 // the same of work that has no cost
	guessSigma = 2.3  // a factor of 10
	priorRuns  = 1    // runs that the prior is worth at most
	mostSigma  = 1.0  // that a prediction has
	leastSigma = 0.05 // no machine repeats itself better
)

// ask returns what is known, of which it keeps no more than there can be keys.
func (h *History) ask(q question) known {
	k, ok := h.pooled[q]
	if ok {
		return k
	}
	k = h.about(q.Key, q.cost)
	if h.pooled == nil {
		h.pooled = map[question]known{}
	}
	if len(h.pooled) == mostKeys {
		clear(h.pooled)
	}
	h.pooled[q] = k
	return k
}

// about pools what is known of a key. Work without a cost that has not run on this model has run on others, perhaps.
func (h *History) about(k Key, cost bool) known {
	prior := known{variance: costSigma * costSigma, weight: costRuns}
	if !cost {
		prior = known{variance: guessSigma * guessSigma, weight: guessRuns}
	}
	sizes := h.types[k.Type][k.place()]
	switch {
	case sizes != nil:
		prior = pool(prior, sizes, k.Bucket, k.Bucket)
	case !cost:
		all := pool(prior, h.elsewhere(k.Type), k.Bucket, noBucket)
		prior = known{mean: all.mean, variance: prior.variance, weight: prior.weight} // another device may be ten times as fast
	}
	e := sizes[k.Bucket]
	if e == nil {
		return prior
	}
	n, worth := float64(e.Count), min(priorRuns, prior.weight)
	mean := (n*e.Mean + worth*prior.mean) / (n + worth)
	return known{mean, (n*e.Variance + worth*prior.variance) / (n + worth), e.Count, prior.weight + n}
}

// noBucket is that of no work.
const noBucket = -1

// pool weighs a prior with buckets, by how near they are, but for one.
func pool(prior known, sizes buckets, at, but int) known {
	order := slices.Sorted(maps.Keys(sizes)) // sums of floats depend on their order
	order = slices.DeleteFunc(order, func(b int) bool { return b == but })
	weigh := func(b int) float64 { return sizes[b].weight() * math.Pow(fade, math.Abs(float64(b-at))) }
	all, mean := prior.weight, prior.weight*prior.mean
	for _, b := range order {
		all += weigh(b)
		mean += weigh(b) * sizes[b].Mean
	}
	mean /= all
	variance := prior.weight * (prior.variance + (prior.mean-mean)*(prior.mean-mean))
	for _, b := range order {
		d := sizes[b].Mean - mean
		variance += weigh(b) * (sizes[b].Variance + d*d)
	}
	return known{mean: mean, variance: variance / all, weight: all}
}

// elsewhere is what was measured of a type anywhere, of each bucket the newest.
func (h *History) elsewhere(kind string) buckets {
	found := buckets{}
	for _, sizes := range h.types[kind] {
		for b, e := range sizes {
			if found[b] == nil || found[b].turn < e.turn {
				found[b] = e
			}
		}
	}
	return found
}

// Predict is how long work takes on a worker, once it begins there: the mean of a log-normal distribution,
//
//	cost · exp(μ + pace + σ²/2)
//
// where μ and σ are the pooled ones of [History], and pace is by how much the worker is slower than others that are called the same. The
// worker's queue does not count.
func (h *History) Predict(w Work, on Worker) Prediction {
	cost, hasCost := on.cost(w)
	k := h.ask(question{Key{w.Type, w.bucket(), on.Device, on.Model}, hasCost})
	sigma := min(max(math.Sqrt(k.variance), leastSigma), mostSigma)
	seconds := cost * math.Exp(k.mean+h.pace(on)+sigma*sigma/2)
	return Prediction{Seconds: min(max(seconds, shortest), longest), Sigma: sigma, Runs: k.runs, Guessed: !hasCost && k.weight <= guessRuns}
}
