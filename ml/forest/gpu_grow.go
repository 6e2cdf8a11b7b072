package forest

import (
	"context"
	"fmt"
	"math"
	"sync"

	"cancha/ml/tree"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
)

// growIn grows the forest where a session chooses.
func (g *grower) growIn(ctx context.Context, s *gpu.Session) error {
	job := g.unweighed()
	if _, device := s.Devices(); device != nil { // else the CPU grows it, and there is nothing to weigh
		var err error
		if job, err = g.countingJob(s); err != nil {
			return err
		}
	}
	return s.Do(ctx, job)
}

func (g *grower) unweighed() gpu.Job {
	return gpu.Job{Name: "forest fit", Size: g.data.Rows(), CPU: g.growOnCPU, Run: g.growCounted}
}

// countingJob is the growing of the forest with what there is to count, in a session that knows the funcs.
func (g *grower) countingJob(s *gpu.Session) (gpu.Job, error) {
	job := g.unweighed()
	l, err := library()
	if err != nil {
		return job, err
	}
	if err := s.Load(l); err != nil {
		return job, err
	}
	err = g.weigh(&job)
	return job, err
}

// weigh tells a job what there is to count, or why it cannot be counted.
func (g *grower) weigh(job *gpu.Job) error {
	b, err := g.builder(g.data, g.bins, g.tree)
	if err != nil {
		return fmt.Errorf("forest: %w", err)
	}
	rows := g.bootstrap.distinct()
	g.looks = b.MaxFeatures()
	switch err := b.Counted(); {
	case err != nil:
		job.Unfit = err.Error()
	case rows <= tree.WideRows:
		job.Unfit = fmt.Sprintf("forest: trees of about %d rows have no node of more than %d, which is where counting could pay", rows, tree.WideRows)
	case b.MaxFeatures() > math.MaxInt32/nodeCounts(len(g.data.Classes), 1):
		job.Unfit = fmt.Sprintf("forest: a node looks at %d columns, more than a device counts to", b.MaxFeatures())
	default:
		g.countingWork(job, int64(rows), int64(b.MaxFeatures()))
	}
	return nil
}

// countingWork estimates what trees of so many distinct rows have counted, node by node in halves until they are no longer wide. What stays on the
// CPU either way, dividing the rows and growing the rest, is left out. A position takes 9 bytes to copy; to lay it out first takes two cores twice as
// long: 2 to 3 ns on each, at 400,000 rows.
func (g *grower) countingWork(job *gpu.Job, rows, most int64) {
	levels := int64(math.Ceil(math.Log2(float64(rows) / tree.WideRows)))
	if depth := int64(g.config.MaxDepth); depth > 0 {
		levels = min(levels, depth)
	}
	trees := int64(g.config.Trees - len(g.from))
	positions, nodes := trees*levels*rows, trees<<levels
	work := histogramWork(positions, most)
	job.Bytes, job.Flops = work.Bytes, work.Flops
	job.Launches = int(2 * levels * trees / int64(min(g.config.Workers, g.growing())))
	job.Copied = int64(g.data.Rows()*len(g.data.Features)) + 3*9*positions + driver.Product(4, nodes, int64(nodeCounts(len(g.data.Classes), int(most))))
}

// nodeCounts is how many counts the histograms of a node have.
func nodeCounts(classes, columns int) int { return histogramBins * (classes + 1) * columns }

// growCounted grows the forest on its workers, and has the device count their wide nodes.
func (g *grower) growCounted(ctx context.Context, d driver.Device, q driver.Queue) error {
	c, err := newCounter(ctx, d, q, g)
	if err != nil {
		return err
	}
	return g.growBy(ctx, c)
}

// growBy grows the forest by a counter, which it serves.
func (g *grower) growBy(ctx context.Context, c *counter) error {
	labels := make([]uint8, g.data.Rows())
	for i, l := range g.data.Labels {
		labels[i] = uint8(l)
	}
	ctx, stop := context.WithCancelCause(ctx)
	var growing sync.WaitGroup
	defer growing.Wait()
	defer stop(nil) // of workers that wait for what will not be counted
	grown := make(chan error, 1)
	growing.Go(func() {
		grown <- g.grow(ctx, func(b *tree.Builder) growTree { return newWideGrower(b, c, labels).grow })
	})
	return c.serve(ctx, grown)
}

// wideGrower grows trees whose wide nodes are counted elsewhere.
type wideGrower struct {
	builder *tree.Builder
	counter *counter
	labels  []uint8
	level   level
}

func newWideGrower(b *tree.Builder, c *counter, labels []uint8) *wideGrower {
	return &wideGrower{builder: b, counter: c, labels: labels, level: level{done: make(chan error, 1)}}
}

func (w *wideGrower) grow(ctx context.Context, draws []uint16, seed uint64) (*tree.Tree, error) {
	g, err := w.builder.Begin(draws, seed)
	if err != nil {
		return nil, err
	}
	for wide := g.Wide(); len(wide) > 0; wide = g.Wide() {
		for len(wide) > 0 {
			n := min(len(wide), w.counter.atOnce)
			if err := w.split(ctx, g, wide[:n], draws); err != nil {
				return nil, err
			}
			wide = wide[n:]
		}
	}
	return g.Finish(ctx)
}

// split splits nodes of one tree by histograms.
func (w *wideGrower) split(ctx context.Context, g *tree.Growth, wide []tree.Wide, draws []uint16) error {
	w.level.lay(wide, draws, w.labels, w.counter.node)
	if err := w.counter.count(ctx, &w.level); err != nil {
		return err
	}
	for i, node := range wide {
		g.SplitWide(node, w.level.counts[i*w.counter.node:][:w.counter.node])
	}
	return nil
}
