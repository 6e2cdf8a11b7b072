package stream

import "fmt"

// Aggregate is one statistic of a window: one column of the result, or five for Stats.
type Aggregate struct {
	kind      aggregateKind
	name      string
	value     Value
	condition Condition
	of, per   string
}

type aggregateKind uint8

const (
	aggregateCount aggregateKind = iota
	aggregateStats
	aggregateMin
	aggregateMax
	aggregateMean
	aggregateVariance
	aggregateShare
)

// Count counts events.
func Count(name string) Aggregate { return Aggregate{kind: aggregateCount, name: name} }

// CountIf counts the events that a condition holds for.
func CountIf(name string, c Condition) Aggregate { return Count(name).If(c) }

// Stats gives five columns of a value: name_count, name_min, name_max, name_mean and name_var, the sample variance with
// divisor n-1. Events that lack the value are left out. The variance of fewer than two values is absent, as are all but
// the count of none.
func Stats(name string, v Value) Aggregate {
	return Aggregate{kind: aggregateStats, name: name, value: v}
}

// Min is the least value; absent where there is none.
func Min(name string, v Value) Aggregate {
	return Aggregate{kind: aggregateMin, name: name, value: v}
}

// Max is the greatest value; absent where there is none.
func Max(name string, v Value) Aggregate {
	return Aggregate{kind: aggregateMax, name: name, value: v}
}

// Mean is the arithmetic mean of a value; absent where there is none.
func Mean(name string, v Value) Aggregate {
	return Aggregate{kind: aggregateMean, name: name, value: v}
}

// Variance is the sample variance of a value, divisor n-1; absent for fewer than two values.
func Variance(name string, v Value) Aggregate {
	return Aggregate{kind: aggregateVariance, name: name, value: v}
}

// Share is a row's part of the events of its window: over the events of the window whose other group keys are the row's and
// that have a value at path of, the part, from 0 to 1, whose value there is the row's own value at path per. Per is one of
// the paths of GroupBy. Possession is Share("possession", "possession_team.id", "team.id"). A window without an event of the
// row's own keys has no row; the share is absent where no event has a value at path of.
func Share(name, of, per string) Aggregate {
	return Aggregate{kind: aggregateShare, name: name, of: of, per: per}
}

// If restricts a statistic to the events that a condition holds for; several conditions must all hold.
func (a Aggregate) If(c Condition) Aggregate {
	if a.condition.op == opNone {
		a.condition = c
	} else {
		a.condition = And(a.condition, c)
	}
	return a
}

// columns returns the names of the columns that the statistic fills.
func (a Aggregate) columns() []Column {
	switch a.kind {
	case aggregateCount:
		return []Column{{Name: a.name, Integer: true}}
	case aggregateStats:
		return []Column{{Name: a.name + "_count", Integer: true}, {Name: a.name + "_min"}, {Name: a.name + "_max"},
			{Name: a.name + "_mean"}, {Name: a.name + "_var"}}
	default:
		return []Column{{Name: a.name}}
	}
}

func (a Aggregate) check() error {
	if a.name == "" {
		return fmt.Errorf("stream: a statistic without a name; the first argument of Count, Stats, Share … names its column")
	}
	return nil
}
