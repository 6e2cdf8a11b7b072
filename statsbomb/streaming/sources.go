package streaming

import (
	"cmp"
	"slices"
)

// brought is what a partition has brought to a board, with what has been forgotten since: a checkpoint has it, so that a scoring that goes on
// tells what there was in all.
type brought struct {
	Total   int64             // predictions
	Known   int64             // matches
	Sources map[string]*int64 // records by what they call their source
}

// counts are those of a handler's partition.
func (b *Board) counts(of *handler) *brought {
	counts := b.brought[of]
	if counts == nil {
		counts = &brought{Sources: map[string]*int64{}}
		b.brought[of] = counts
	}
	return counts
}

// sum is what all partitions have brought.
func (b *Board) sum() *brought {
	all := &brought{Sources: map[string]*int64{}}
	for _, counts := range b.brought {
		all.add(counts)
	}
	return all
}

func (n *brought) add(counts *brought) {
	n.Total += counts.Total
	n.Known += counts.Known
	for name, records := range counts.Sources {
		if n.Sources[name] == nil {
			n.Sources[name] = new(int64)
		}
		if records != nil { // else it is no snapshot of ours
			*n.Sources[name] += *records
		}
	}
}

// otherSources is what names of sources are counted under that are too many.
const otherSources = "other"

// source returns the counter of a source.
func (n *brought) source(name string) *int64 {
	name = cmp.Or(name, "unknown")
	if n.Sources[name] == nil && len(n.Sources) >= mostSources {
		name = otherSources
	}
	if n.Sources[name] == nil {
		n.Sources[name] = new(int64)
	}
	return n.Sources[name]
}

// SourceCount is how many records said that they come from a source.
type SourceCount struct {
	Source  string // "open-data", "api", "simulator"; "unknown" if they do not say; "other" beyond 100 names
	Records int64
}

// Sources tells where the scored records come from, by name.
func (b *Board) Sources() []SourceCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	var counts []SourceCount
	for source, n := range b.sum().Sources {
		counts = append(counts, SourceCount{source, *n})
	}
	counts = fewer(counts)
	slices.SortFunc(counts, func(a, b SourceCount) int { return cmp.Compare(a.Source, b.Source) })
	return counts
}

// fewer counts the rarest together with the others where there are too many: each partition may have brought other names.
func fewer(counts []SourceCount) []SourceCount {
	if len(counts) <= mostSources {
		return counts
	}
	slices.SortFunc(counts, func(a, b SourceCount) int {
		return cmp.Or(truth(b.Source != otherSources)-truth(a.Source != otherSources), cmp.Compare(b.Records, a.Records), cmp.Compare(a.Source, b.Source))
	})
	others := SourceCount{Source: otherSources}
	for _, rare := range counts[mostSources:] {
		others.Records += rare.Records
	}
	return append(counts[:mostSources], others)
}

func truth(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// OtherSources tells which of the scored records do not come from the source that a model was trained on: probabilities
// for them deserve a warning.
func (b *Board) OtherSources(trained string) []SourceCount {
	return slices.DeleteFunc(b.Sources(), func(c SourceCount) bool { return c.Source == trained })
}
