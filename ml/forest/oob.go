package forest

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/metric"
	"cancha/ml/tree"
)

// outOfBag is what a forest answers for its own training rows, each by the trees that did not see it.
type outOfBag struct {
	sums  []float64 // of the trees' answers, outputs a row
	trees []float64 // how many answered for each row
}

// outOfBag asks the trees. Where whole groups were drawn, the trees that answer have seen no row of the row's group.
func (g *grower) outOfBag(ctx context.Context, outputs int) (outOfBag, error) {
	rows := g.data.Rows()
	o := outOfBag{make([]float64, rows*outputs), make([]float64, rows)}
	bags := make([]bag, len(g.trees))
	err := parallel(ctx, len(bags), 1, func(start, end int) {
		draws, units := make([]uint16, rows), make([]uint16, g.bootstrap.units)
		for i := start; i < end; i++ {
			bags[i] = bagOf(g.bootstrap.draw(draws, units, g.seeds[i]))
		}
	})
	if err != nil {
		return o, err
	}
	return o, parallel(ctx, rows, leastBlock, func(start, end int) {
		for i, t := range g.trees {
			for row := start; row < end; row++ {
				if !bags[i].has(row) {
					addRow(t, o.sums[row*outputs:][:outputs], g.data, row)
					o.trees[row]++
				}
			}
		}
	})
}

// addRow adds a tree's answer for a row of a dataset.
func addRow(t *tree.Tree, sums []float64, d *ml.Dataset, row int) {
	if p := len(d.Features); t.Exact != nil {
		t.AddExact(sums, d.Exact[row*p:(row+1)*p])
	} else {
		t.Add(sums, d.Row(row))
	}
}

// bag tells which rows a tree has seen, a bit each.
type bag []uint64

func bagOf(draws []uint16) bag {
	b := make(bag, (len(draws)+63)/64)
	for i, n := range draws {
		if n > 0 {
			b[i/64] |= 1 << (i % 64)
		}
	}
	return b
}

func (b bag) has(row int) bool { return b[row/64]>>(row%64)&1 != 0 }

// judgeOutOfBag fills in OOBProba and OOBScore.
func (f *Classifier) judgeOutOfBag(ctx context.Context, g *grower) error {
	k, d := len(f.Classes), g.data
	o, err := g.outOfBag(ctx, k)
	if err != nil {
		return err
	}
	f.OOBProba = make([][]float64, d.Rows())
	var predicted, labels []int
	var weights []float64
	for i := range f.OOBProba {
		p := o.sums[i*k : (i+1)*k : (i+1)*k]
		normalize(p) // NaN of a row that all trees have seen
		if f.OOBProba[i] = p; o.trees[i] > 0 {
			predicted, labels, weights = append(predicted, ml.MostProbable([][]float64{p})[0]), append(labels, d.Labels[i]), append(weights, d.Weight(i))
		}
	}
	if len(labels) == 0 {
		return errAllSeen
	}
	f.OOBScore = metric.Share(predicted, labels, weights)
	return nil
}

// judgeOutOfBag fills in OOBPrediction and OOBScore.
func (f *Regressor) judgeOutOfBag(ctx context.Context, g *grower) error {
	o, err := g.outOfBag(ctx, 1)
	if err != nil {
		return err
	}
	f.OOBPrediction = o.sums
	var predicted, targets, weights []float64
	for i := range o.sums {
		if o.trees[i] == 0 {
			o.sums[i] = math.NaN()
			continue
		}
		o.sums[i] /= o.trees[i]
		predicted, targets, weights = append(predicted, o.sums[i]), append(targets, g.data.Targets[i]), append(weights, g.data.Weight(i))
	}
	if len(targets) == 0 {
		return errAllSeen
	}
	f.OOBScore = metric.R2(predicted, targets, weights)
	return nil
}

var errAllSeen = fmt.Errorf("forest: every row was seen by every tree, so none is out of bag; grow more trees, or leave OOB out")
