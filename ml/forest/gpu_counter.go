package forest

import (
	"context"
	"fmt"
	"slices"

	"cancha/ml/tree"
	"cancha/runtime/gpu/driver"
)

// level is nodes of one tree that wait for their histograms.
type level struct {
	order  []uint32 // their rows, node by node
	labels []uint8  // of these
	draws  []uint32
	ends   []int    // where in order the rows of each node end
	drawn  []int32  // the columns of each node
	counts []uint32 // their histograms, once done
	done   chan error
}

// lay lays nodes one behind the other. Node is how many counts the histograms of one have.
func (l *level) lay(wide []tree.Wide, draws []uint16, labels []uint8, node int) {
	l.order, l.ends, l.drawn = l.order[:0], l.ends[:0], l.drawn[:0]
	for _, w := range wide {
		l.order = append(l.order, w.Rows...)
		l.ends = append(l.ends, len(l.order))
		for _, column := range w.Columns {
			l.drawn = append(l.drawn, int32(column))
		}
	}
	l.labels, l.draws = slices.Grow(l.labels[:0], len(l.order))[:len(l.order)], slices.Grow(l.draws[:0], len(l.order))[:len(l.order)]
	for i, row := range l.order {
		l.labels[i], l.draws[i] = labels[row], uint32(draws[row])
	}
	l.counts = slices.Grow(l.counts[:0], len(wide)*node)[:len(wide)*node]
}

// counter has a device count histograms for all workers of a forest. One goroutine serves it, and has the queue; what is asked while the device counts
// is counted together next.
type counter struct {
	queue                                             driver.Queue
	rows, columns, classes, most                      int
	node                                              int // counts of a node's histograms
	atOnce                                            int // nodes that may be asked for at once
	positions, nodes                                  int // that there is room for
	codes, order, labels, draws, tasks, drawn, counts driver.Memory
	asked                                             chan *level
	late                                              *level // for which a batch had no room
}

// Bounds of what is asked for at once, and of what a block of threads counts: blocks of threads are many then, and each adds its counts to the node's
// seldom enough.
const (
	levelBytes    = chunkBytes / 4
	taskPositions = 8192
)

// newCounter copies the codes to the device and takes memory for counts.
func newCounter(ctx context.Context, d driver.Device, q driver.Queue, g *grower) (*counter, error) {
	c := &counter{queue: q, rows: g.bins.Rows(), columns: g.bins.Columns(), classes: len(g.data.Classes), most: g.looks, asked: make(chan *level)}
	c.node = nodeCounts(c.classes, c.most)
	c.atOnce, c.nodes = max(1, levelBytes/(4*c.node)), max(1, chunkBytes/(4*c.node))
	workers := min(g.config.Workers, g.growing())
	c.positions = max(c.rows, min(chunkBytes/9, workers*c.rows)) // a level has a row once
	c.nodes = min(c.nodes, workers*(c.rows/tree.WideRows+1))
	if err := c.alloc(d); err != nil {
		return nil, err
	}
	for column := range c.columns {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if err := q.CopyIn(c.codes, column*c.rows, g.bins.Codes(column)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// alloc takes memory, which the job gives back.
func (c *counter) alloc(d driver.Device) (err error) {
	for _, m := range []struct {
		to *driver.Memory
		of driver.Type
		n  int
	}{
		{&c.codes, driver.Uint8, c.columns * c.rows}, {&c.order, driver.Uint32, c.positions}, {&c.labels, driver.Uint8, c.positions}, {&c.draws, driver.Uint32, c.positions},
		{&c.tasks, driver.Int32, 3 * (c.positions/taskPositions + c.nodes)}, {&c.drawn, driver.Int32, c.nodes * c.most}, {&c.counts, driver.Uint32, c.nodes * c.node},
	} {
		if *m.to, err = d.Alloc(m.of, m.n); err != nil {
			return err
		}
	}
	return nil
}

// count waits until a level has its histograms, or for the end of ctx. Any worker may call it.
func (c *counter) count(ctx context.Context, l *level) error {
	select {
	case c.asked <- l:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-l.done:
		return err
	case <-ctx.Done(): // the level is not used again: it may still be read
		return context.Cause(ctx)
	}
}

// serve counts what is asked until the forest has grown, and returns what became of it. After a failure all that is asked has that for an answer.
func (c *counter) serve(ctx context.Context, grown <-chan error) error {
	var failed error
	for {
		select {
		case err := <-grown:
			return err
		case l := <-c.asked:
			for l != nil {
				batch := c.gather(l)
				if failed == nil {
					failed = c.countAll(ctx, batch)
				}
				for _, l := range batch {
					l.done <- failed
				}
				l = c.late
			}
		}
	}
}

// gather takes what else is asked now, as far as there is room for it.
func (c *counter) gather(l *level) []*level {
	batch, positions, nodes := []*level{l}, len(l.order), len(l.ends)
	c.late = nil
	for {
		select {
		case l := <-c.asked:
			positions, nodes = positions+len(l.order), nodes+len(l.ends)
			if positions > c.positions || nodes > c.nodes {
				c.late = l
				return batch
			}
			batch = append(batch, l)
		default:
			return batch
		}
	}
}

// countAll counts the nodes of a batch, level behind level.
func (c *counter) countAll(ctx context.Context, batch []*level) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var tasks, drawn []int32
	position, node := 0, 0
	for _, l := range batch {
		if err := c.copyIn(l, position); err != nil {
			return err
		}
		tasks, drawn = l.tasks(tasks, position, node), append(drawn, l.drawn...)
		position, node = position+len(l.order), node+len(l.ends)
	}
	if err := c.launch(tasks, drawn, position, node); err != nil {
		return err
	}
	node = 0
	for _, l := range batch {
		if err := c.queue.CopyOut(l.counts, c.counts, node*c.node); err != nil {
			return err
		}
		node += len(l.ends)
	}
	return nil
}

// copyIn copies the positions of a level behind those of others.
func (c *counter) copyIn(l *level, position int) error {
	for _, part := range []struct {
		to   driver.Memory
		from any
	}{{c.order, l.order}, {c.labels, l.labels}, {c.draws, l.draws}} {
		if err := c.queue.CopyIn(part.to, position, part.from); err != nil {
			return err
		}
	}
	return nil
}

// tasks appends the parts of a level's nodes: node, start and end. Positions and nodes of others come before.
func (l *level) tasks(all []int32, position, node int) []int32 {
	start := 0
	for i, end := range l.ends {
		for ; start < end; start += taskPositions {
			all = append(all, int32(node+i), int32(position+start), int32(position+min(start+taskPositions, end)))
		}
		start = end
	}
	return all
}

// launch counts tasks of so many nodes, whose positions are there.
func (c *counter) launch(tasks, drawn []int32, positions, nodes int) error {
	if err := c.queue.CopyIn(c.tasks, 0, tasks); err != nil {
		return err
	}
	if err := c.queue.CopyIn(c.drawn, 0, drawn); err != nil {
		return err
	}
	counts := driver.At(c.counts, 0)
	if err := c.queue.Launch(driver.Launch{Func: "forest_clear", Args: []driver.Arg{counts, driver.Int(nodes * c.node)}}); err != nil {
		return err
	}
	args := []driver.Arg{counts}
	for _, m := range []driver.Memory{c.codes, c.order, c.labels, c.draws, c.tasks, c.drawn} {
		args = append(args, driver.At(m, 0))
	}
	for _, n := range []int{len(tasks) / 3, c.most, positions, c.rows, c.columns, c.classes, nodes} {
		args = append(args, driver.Int(n))
	}
	if err := c.queue.Launch(driver.Launch{Func: "forest_histograms", Args: args}); err != nil {
		return fmt.Errorf("count %d nodes: %w", nodes, err)
	}
	return nil
}
