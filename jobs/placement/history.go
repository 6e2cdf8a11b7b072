package placement

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// History is what was measured: how long runs took beside what their cost says. The zero History is empty and ready. It is of one goroutine at a time.
//
// It averages x = ln(seconds / cost) by [Key], so what it knows holds for all sizes of a bucket, and not for its middle. Of work without a cost, a cost of
// one second is taken. Errors of times are factors, which is why it averages logarithms: StarPU averages seconds, for each exact size.
//
// A key with few runs borrows from the type's other sizes on the same device, and these from the cost:
//
//	prior = Σ wᵢ meanᵢ / (Σ wᵢ + ½)        of the type's other buckets, wᵢ = min(nᵢ, 8) · 0.7^|bucketᵢ − bucket|; the cost is half a run at 0
//	μ     = (n mean + w prior) / (n + w)    of the bucket itself; w, what the prior rests on, is at most one run
//
// and the variances likewise, with that of the means about the prior. This is partial pooling (Gelman and others, Bayesian Data Analysis, chapter 5), with
// weights that are chosen and not estimated.
type History struct {
	groups map[group]map[int]*entry // by bucket
	size   int                      // entries
	turn   int64                    // of the newest measurement
	pooled map[question]known       // answers since then: a plan asks the same for many jobs
}

// question is what is asked about.
type question struct {
	Key
	cost bool
}

// group is all sizes of a type, on a device.
type group struct {
	kind   string
	device Device
	model  string
}

// entry is what is known of a key.
type entry struct {
	Average
	turn int64 // when it was measured last
}

// Key is under what runs are averaged.
type Key struct {
	Type   string `json:"type"`
	Bucket int    `json:"bucket"` // ⌊log2⌋ of the work's size
	Device Device `json:"device"`
	Model  string `json:"model"` // of the device, as its worker calls it; "" where it has no name
}

func (k Key) group() group { return group{k.Type, k.Device, k.Model} }

// Measurement is an average with its key, as a store keeps it.
type Measurement struct {
	Key
	Average
}

// mostKeys bounds a history: types are texts from outside. Beyond, the key goes that was measured the longest ago.
const mostKeys = 10_000

// Add takes in that a run has taken so many seconds on a worker, which is as it was when the job was placed, and returns what is known of its key now. An
// error tells of seconds that no run takes, and of work that is none; nothing is added then. Runs that failed or were cancelled are not to be added.
func (h *History) Add(w Work, on Worker, seconds float64) (Measurement, error) {
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
	cost, _ := on.cost(w)
	e := h.entry(k)
	e.Add(math.Log(min(max(seconds, shortest), longest) / cost))
	return Measurement{k, e.Average}, nil
}

// shortest is below any run and any cost, in seconds: both have logarithms.
const shortest = 1e-9

// entry returns that of a key, a new one if need be, and has it be the newest.
func (h *History) entry(k Key) *entry {
	e := h.groups[k.group()][k.Bucket]
	if e == nil {
		if h.size == mostKeys {
			h.forget()
		}
		if h.groups == nil {
			h.groups = map[group]map[int]*entry{}
		}
		if h.groups[k.group()] == nil {
			h.groups[k.group()] = map[int]*entry{}
		}
		e = &entry{}
		h.groups[k.group()][k.Bucket] = e
		h.size++
	}
	h.turn++
	e.turn = h.turn
	h.pooled = nil
	return e
}

// forget removes the key that was measured the longest ago.
func (h *History) forget() {
	var oldest Key
	turn := int64(math.MaxInt64)
	for g, buckets := range h.groups {
		for b, e := range buckets {
			if e.turn < turn {
				oldest, turn = Key{g.kind, b, g.device, g.model}, e.turn
			}
		}
	}
	delete(h.groups[oldest.group()], oldest.Bucket)
	if len(h.groups[oldest.group()]) == 0 {
		delete(h.groups, oldest.group())
	}
	h.size--
}

// keys lists all, the one measured last behind the others.
func (h *History) keys() []Key {
	all := make([]Key, 0, h.size)
	for g, buckets := range h.groups {
		for b := range buckets {
			all = append(all, Key{g.kind, b, g.device, g.model})
		}
	}
	turn := func(k Key) int64 { return h.groups[k.group()][k.Bucket].turn }
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
	buckets := h.groups[k.group()]
	switch {
	case buckets != nil:
		prior = pool(prior, buckets, k.Bucket, k.Bucket)
	case !cost:
		all := pool(prior, h.elsewhere(k), k.Bucket, noBucket)
		prior = known{mean: all.mean, variance: prior.variance, weight: prior.weight} // another device may be ten times as fast
	}
	e := buckets[k.Bucket]
	if e == nil {
		return prior
	}
	n, worth := float64(e.Count), min(priorRuns, prior.weight)
	mean := (n*e.Mean + worth*prior.mean) / (n + worth)
	return known{mean, (n*e.Variance + worth*prior.variance) / (n + worth), e.Count, prior.weight + n}
}

// noBucket is that of no work.
const noBucket = -1

// pool weighs a prior with the buckets of a group, by how near they are, but for one.
func pool(prior known, buckets map[int]*entry, at, but int) known {
	order := slices.Sorted(maps.Keys(buckets)) // sums of floats depend on their order
	order = slices.DeleteFunc(order, func(b int) bool { return b == but })
	weigh := func(b int) float64 { return buckets[b].weight() * math.Pow(fade, math.Abs(float64(b-at))) }
	all, mean := prior.weight, prior.weight*prior.mean
	for _, b := range order {
		all += weigh(b)
		mean += weigh(b) * buckets[b].Mean
	}
	mean /= all
	variance := prior.weight * (prior.variance + (prior.mean-mean)*(prior.mean-mean))
	for _, b := range order {
		d := buckets[b].Mean - mean
		variance += weigh(b) * (buckets[b].Variance + d*d)
	}
	return known{mean: mean, variance: variance / all, weight: all}
}

// elsewhere is what was measured of a type on other devices, of each bucket the newest.
func (h *History) elsewhere(k Key) map[int]*entry {
	found := map[int]*entry{}
	for g, buckets := range h.groups {
		for b, e := range buckets {
			if g.kind == k.Type && (found[b] == nil || found[b].turn < e.turn) {
				found[b] = e
			}
		}
	}
	return found
}

// Predict is how long work takes on a worker, once it begins there: the mean of a log-normal distribution,
//
//	cost · exp(μ + σ²/2)
//
// where μ and σ are the pooled ones of [History]. The worker's queue does not count.
func (h *History) Predict(w Work, on Worker) Prediction {
	cost, hasCost := on.cost(w)
	k := h.ask(question{Key{w.Type, w.bucket(), on.Device, on.Model}, hasCost})
	sigma := min(max(math.Sqrt(k.variance), leastSigma), mostSigma)
	seconds := cost * math.Exp(k.mean+sigma*sigma/2)
	return Prediction{Seconds: min(max(seconds, shortest), longest), Sigma: sigma, Runs: k.runs, Guessed: !hasCost && k.weight <= guessRuns}
}
