package server

import (
	"cmp"
	"regexp"
	"slices"

	"cancha/jobs/job"
	"cancha/jobs/scheduler"
)

// byChance is what a type's name ends with that is of one call alone: a text of crypto/rand behind a dot, as jobs.Map has it.
var byChance = regexp.MustCompile(`\.[A-Z2-7]{26,}$`)

// family is a type without what is of one call alone: each call would be series of its own for ever, which nobody can read.
func family(name string) string {
	at := byChance.FindStringIndex(name)
	if at == nil || at[0] == 0 {
		return name
	}
	return name[:at[0]]
}

// byFamily adds up what is of one family, in what the scheduler has made for this call.
func byFamily(m scheduler.Measures) scheduler.Measures {
	type line struct {
		name  string
		state job.State
	}
	open, kinds := map[line]int{}, map[scheduler.Kind]*scheduler.Measured{}
	for _, o := range m.Open {
		open[line{family(o.Type), o.State}] += o.Jobs
	}
	for _, k := range m.Kinds {
		k.Type = family(k.Type)
		if all := kinds[k.Kind]; all != nil {
			add(all, &k)
		} else {
			kinds[k.Kind] = &k
		}
	}
	m.Open, m.Kinds = nil, nil
	for l, n := range open {
		m.Open = append(m.Open, scheduler.Open{Type: l.name, State: l.state, Jobs: n})
	}
	for _, k := range kinds {
		m.Kinds = append(m.Kinds, *k)
	}
	slices.SortFunc(m.Open, func(a, b scheduler.Open) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.State, b.State))
	})
	slices.SortFunc(m.Kinds, func(a, b scheduler.Measured) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Device, b.Device))
	})
	return m
}

// add adds one kind's numbers to another's.
func add(to, k *scheduler.Measured) {
	for state, n := range k.Ended {
		to.Ended[state] += n
	}
	addTimes(&to.Wait, &k.Wait)
	addTimes(&to.Run, &k.Run)
	to.Error.Runs += k.Error.Runs
	to.Error.Log += k.Error.Log
	to.Error.Error += k.Error.Error
	for i, n := range k.Error.Within {
		to.Error.Within[i] += n
	}
}

func addTimes(to, h *scheduler.Histogram) {
	to.Count += h.Count
	to.Sum += h.Sum
	for i, n := range h.Within {
		to.Within[i] += n
	}
}
