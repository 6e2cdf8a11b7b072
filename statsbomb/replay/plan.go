package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"cancha/internal/callback"
	"cancha/statsbomb"
)

// plan gives out the matches of a replay, a batch at a time.
type plan struct {
	archive statsbomb.Archive
	cfg     Config
	matches []statsbomb.Match

	order  []int // of the pass through the archive that is under way: indices into matches
	pass   int
	barren int // matches left out since the last one that was played
	sizes  []int
	batch  int
	ids    ids

	skipped atomic.Int64
}

// fixtures is what an archive may offer beside Matches: the list without scores, which the simulator has at once.
type fixtures interface{ Fixtures() []statsbomb.Match }

func newPlan(archive statsbomb.Archive, cfg Config) *plan {
	p := &plan{archive: archive, cfg: cfg, sizes: batchSizes(cfg), ids: newIDs(cfg)}
	if f, ok := archive.(fixtures); ok {
		p.matches = f.Fixtures()
	} else {
		p.matches = archive.Matches()
	}
	return p
}

// batchSizes are the sizes of the batches; the last one repeats if there is no end. Where the matches do not fill whole
// batches, batches are larger: a smaller one could leave a partition without a match.
func batchSizes(cfg Config) []int {
	full := matchesPerPartition * cfg.Partitions
	if cfg.Matches == 0 {
		return []int{full}
	}
	n := max(cfg.Matches/full, 1)
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = cfg.Matches*(i+1)/n - cfg.Matches*i/n
	}
	return sizes
}

// size is how many matches the next batch has; 0: there is none.
func (p *plan) size() int {
	if p.batch < len(p.sizes) {
		return p.sizes[p.batch]
	}
	if p.cfg.Matches > 0 {
		return 0
	}
	return p.sizes[len(p.sizes)-1]
}

// next is the next match of the archive, which is passed through again and again.
func (p *plan) next() statsbomb.Match {
	if len(p.order) == 0 {
		p.order = make([]int, len(p.matches))
		for i := range p.order {
			p.order[i] = i
		}
		if !p.cfg.ByDate {
			rand.New(rand.NewPCG(p.cfg.Seed, uint64(p.pass))).Shuffle(len(p.order), func(i, j int) {
				p.order[i], p.order[j] = p.order[j], p.order[i]
			})
		}
		p.pass++
	}
	m := p.matches[p.order[0]]
	p.order = p.order[1:]
	return m
}

// prepare begins to read and encode the next batch and returns what waits for it. A nil batch means that there is none.
// Only one batch may be under preparation.
func (p *plan) prepare(ctx context.Context) func() (*batch, error) {
	var b *batch
	var err error
	var group sync.WaitGroup
	calling := callback.Within(ctx)
	group.Go(func() { // it reads the archive, and calls Warn
		err = callback.Do(calling, func() (err error) { b, err = p.make(ctx); return err })
	})
	return func() (*batch, error) {
		group.Wait()
		return b, err
	}
}

func (p *plan) make(ctx context.Context) (*batch, error) {
	want := p.size()
	p.batch++
	if want == 0 {
		return nil, nil
	}
	var loaded []*match
	for len(loaded) < want {
		if p.barren >= 2*len(p.matches) { // so many in a row hold a whole pass
			return nil, fmt.Errorf("replay: none of the %d matches listed has events", len(p.matches))
		}
		var candidates []*match
		for range want - len(loaded) {
			candidates = append(candidates, &match{source: p.next()})
		}
		if err := parallel(ctx, candidates, p.load); err != nil {
			return nil, err
		}
		for _, m := range candidates {
			if len(m.events) > 0 {
				loaded = append(loaded, m)
				p.barren = 0
			} else {
				p.barren++
			}
		}
	}
	for i, m := range loaded {
		m.setID(p.ids.next(i % p.cfg.Partitions))
	}
	if err := parallel(ctx, loaded, (*match).encode); err != nil {
		return nil, err
	}
	return newBatch(loaded), nil
}

// load reads the events of a match. One that has none, or cannot be read, is left out: a stream goes on.
func (p *plan) load(m *match) error {
	events, err := p.archive.Events(m.source.ID)
	m.events = events
	if len(events) > 0 && err == nil {
		return nil
	}
	m.events = nil
	p.skipped.Add(1)
	if err != nil && !errors.Is(err, statsbomb.ErrNoEvents) && p.cfg.Warn != nil {
		p.cfg.Warn(fmt.Errorf("match %d is left out: %w", m.source.ID, err))
	}
	return nil
}

// parallel calls f for each match on all cores and returns the first error.
func parallel(ctx context.Context, matches []*match, f func(*match) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, len(matches))
	calling := callback.Within(ctx)
	for range min(runtime.GOMAXPROCS(0), len(matches)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(matches) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = callback.Do(calling, func() error { return f(matches[i]) })
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}
