package forest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"cancha/internal/callback"
	"cancha/internal/running"
	"cancha/ml"
	"cancha/ml/tree"
)

// grower is a forest in the making.
type grower struct {
	config    Config
	data      *ml.Dataset
	tree      tree.Config
	bins      *tree.Bins
	bootstrap *bootstrap
	builder   func(*ml.Dataset, *tree.Bins, tree.Config) (*tree.Builder, error)
	from      []*tree.Tree // that the forest begins with
	seeds     []uint64
	trees     []*tree.Tree
	next      atomic.Int64 // the next tree to grow
	looks     int          // how many columns a node looks at, where a GPU counts them
	job       *running.Job // whom the process lists

	mu   sync.Mutex // guards done and the calls of Progress
	done int
}

// growTree grows the tree of some draws and a seed.
type growTree func(ctx context.Context, draws []uint16, seed uint64) (*tree.Tree, error)

// fit grows all trees, as a job that can be watched, and where the session chooses if there is one.
func (g *grower) fit(ctx context.Context, of string) error {
	g.job = g.listed(of)
	g.sow()
	return g.job.Do(func() error {
		if g.config.Session == nil {
			return g.growOnCPU(ctx)
		}
		return g.growIn(ctx, g.config.Session)
	})
}

// listed is the growing of the forest as the process lists it.
func (g *grower) listed(of string) *running.Job {
	job := running.NewJob(running.Fit, fmt.Sprintf("random forest, %s: %d trees, %d features", of, g.config.Trees, len(g.data.Features)), g.config.Trees, "trees")
	job.Handle(int64(g.data.Rows()), 4*int64(len(g.data.Values)))
	return job
}

// sow draws the seeds of the trees. Those that are there already have their places. Workers that are more than the trees to come share them.
func (g *grower) sow() {
	rng := rand.New(rand.NewPCG(g.config.Seed, 0))
	g.seeds, g.trees = make([]uint64, g.config.Trees), make([]*tree.Tree, g.config.Trees)
	for i := range g.seeds {
		g.seeds[i] = rng.Uint64()
	}
	g.done = copy(g.trees, g.from)
	g.job.Advance(g.done)
	g.tree.Workers = g.config.Workers / g.growing()
}

// growing is how many trees are to be grown; 1 where there are all, so that what is wrong with the settings is told.
func (g *grower) growing() int { return max(1, g.config.Trees-len(g.from)) }

// growOnCPU grows what trees there are not yet.
func (g *grower) growOnCPU(ctx context.Context) error {
	return g.grow(ctx, func(b *tree.Builder) growTree { return b.Grow })
}

// grow grows what trees there are not yet with the configured number of workers, each by a builder of its own, and puts them
// in order of their seeds.
func (g *grower) grow(ctx context.Context, by func(*tree.Builder) growTree) error {
	g.next.Store(0)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	calling := callback.Within(ctx)
	for range min(g.config.Workers, g.growing()) {
		workers.Go(func() {
			if err := callback.Do(calling, func() error { return g.work(ctx, by) }); err != nil { // it calls Progress
				cancel(err)
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// work grows trees until none is left or ctx is done.
func (g *grower) work(ctx context.Context, by func(*tree.Builder) growTree) error {
	builder, err := g.builder(g.data, g.bins, g.tree)
	if err != nil {
		return fmt.Errorf("forest: %w", err)
	}
	grow, draws, units := by(builder), make([]uint16, g.data.Rows()), make([]uint16, g.bootstrap.units)
	for {
		i := int(g.next.Add(1)) - 1
		if i >= len(g.seeds) {
			return nil
		}
		if g.trees[i] != nil {
			continue
		}
		if g.trees[i], err = grow(ctx, g.bootstrap.draw(draws, units, g.seeds[i]), g.seeds[i]); err != nil {
			return fmt.Errorf("forest: tree %d of %d: %w", i+1, len(g.seeds), err)
		}
		g.report()
	}
}

// report tells the caller that one more tree is done.
func (g *grower) report() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	g.job.Advance(1)
	if g.config.Progress != nil {
		g.config.Progress(g.done, len(g.seeds))
	}
}

// newGrower checks the data and puts them in bins.
func newGrower(ctx context.Context, d *ml.Dataset, c Config) (*grower, error) {
	bins, err := tree.NewBins(ctx, d, c.MaxBins)
	if err != nil {
		return nil, fmt.Errorf("forest: %w", err)
	}
	return &grower{config: c, data: d, bins: bins, bootstrap: newBootstrap(d, c)}, nil
}

// Limits of a row's weight: those of an [ml.Dataset].
const (
	leastWeight = 1e-60
	mostWeight  = 1e60
)

// checkWeights refuses rows whose own weight times that of their class is out of range.
func checkWeights(d *ml.Dataset, class []float64) error {
	if class == nil || d.Weights == nil {
		return nil
	}
	for i, own := range d.Weights {
		of := class[d.Labels[i]]
		if w := own * of; own > 0 && of > 0 && !(w >= leastWeight && w <= mostWeight) {
			return fmt.Errorf("forest: row %d weighs %v, and its class %q %v: together that is not from %g to %g; scale one of them",
				i, own, d.Classes[d.Labels[i]], of, leastWeight, mostWeight)
		}
	}
	return nil
}

// classWeights resolves Balanced and ClassWeight; nil means 1 each.
func classWeights(d *ml.Dataset, c Config) ([]float64, error) {
	if d.Labels == nil {
		return nil, fmt.Errorf("forest: the dataset has no labels; a classifier learns them, a regressor learns targets")
	}
	if !c.Balanced && c.ClassWeight == nil {
		return nil, nil
	}
	weights := make([]float64, len(d.Classes))
	known := map[string]bool{}
	for k, name := range d.Classes {
		known[name], weights[k] = true, 1
		if w, ok := c.ClassWeight[name]; ok {
			weights[k] = w
		}
	}
	for name := range c.ClassWeight {
		if !known[name] {
			return nil, fmt.Errorf("forest: class weight for %q, which is none of the classes %q", name, d.Classes)
		}
	}
	if c.Balanced {
		balance(weights, d.Labels)
	}
	return weights, nil
}

// balance sets weights as scikit-learn's "balanced": rows / (classes x rows of the class). A class without rows keeps 1.
func balance(weights []float64, labels []int) {
	counts := make([]int, len(weights))
	for _, l := range labels {
		counts[l]++
	}
	for k, n := range counts {
		if n > 0 {
			weights[k] = float64(len(labels)) / (float64(len(counts)) * float64(n))
		}
	}
}
