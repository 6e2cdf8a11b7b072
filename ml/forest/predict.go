package forest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"cancha/ml"
)

// ProbaTo fills dst, one number per class, with the probabilities for one row, one number per feature. A row with a NaN
// or an infinity has probabilities of NaN. Digits that float32 has no room for ([ml.Dataset].Exact) only PredictProba sees. It
// allocates nothing. Lengths that do not fit panic.
func (f *Classifier) ProbaTo(dst []float64, row []float32) {
	f.one(dst, row, len(f.Features), len(f.Classes))
	normalize(dst)
}

// PredictProba returns the probabilities of each row, as views into one block of memory. The dataset has the features of the
// training by name and order, and is valid; one that lacks a number is an error unless some that the forest learned from did
// too. It returns early with ctx's cause when ctx is done.
func (f *Classifier) PredictProba(ctx context.Context, d *ml.Dataset) ([][]float64, error) {
	sums, err := f.answers(ctx, d, f.Features, len(f.Classes))
	if err != nil {
		return nil, err
	}
	k := len(f.Classes)
	out := make([][]float64, d.Rows())
	for i := range out {
		out[i] = sums[i*k : (i+1)*k : (i+1)*k]
		normalize(out[i])
	}
	return out, nil
}

// ProbasTo fills dst, one number per row and class, with the probabilities for rows that stand one after the other in
// values, one number per feature. A row with a NaN or an infinity has probabilities of NaN. Lengths that do not fit panic.
func (f *Classifier) ProbasTo(dst []float64, values []float32) {
	f.sum(dst, values, len(f.Features), len(f.Classes))
	for k := len(f.Classes); len(dst) > 0; dst = dst[k:] {
		normalize(dst[:k])
	}
}

// Value returns the mean of the trees' answers for one row, one number per feature; NaN for a row with a NaN or an
// infinity. Digits that float32 has no room for ([ml.Dataset].Exact) only Predict sees. It allocates nothing. A row of
// another length panics.
func (f *Regressor) Value(row []float32) float64 {
	var sum [1]float64
	f.one(sum[:], row, len(f.Features), 1)
	return sum[0] / float64(len(f.trees))
}

// ValuesTo fills dst, one number per row, with the answers for rows that stand one after the other in values, one
// number per feature; NaN for a row with a NaN or an infinity. Lengths that do not fit panic.
func (f *Regressor) ValuesTo(dst []float64, values []float32) {
	f.sum(dst, values, len(f.Features), 1)
	for i := range dst {
		dst[i] /= float64(len(f.trees))
	}
}

// Predict returns the answer for each row. The dataset has the features of the training by name and order, and is valid; one
// that lacks a number is an error unless some that the forest learned from did too. It returns early with ctx's cause when
// ctx is done.
func (f *Regressor) Predict(ctx context.Context, d *ml.Dataset) ([]float64, error) {
	sums, err := f.answers(ctx, d, f.Features, 1)
	if err != nil {
		return nil, err
	}
	for i := range sums {
		sums[i] /= float64(len(f.trees))
	}
	return sums, nil
}

// answers returns the sums of the trees' answers for all rows of a dataset.
func (e *ensemble) answers(ctx context.Context, d *ml.Dataset, features []string, outputs int) ([]float64, error) {
	if err := e.answerable(d, features); err != nil {
		return nil, err
	}
	sums := make([]float64, d.Rows()*outputs)
	var err error
	if d.Exact != nil && e.trees[0].Exact != nil {
		err = inBlocks(ctx, e, sums, d.Exact, len(features), outputs, func(sums, rows []float64) {
			for _, t := range e.trees {
				t.AddExact(sums, rows)
			}
		})
	} else {
		err = inBlocks(ctx, e, sums, d.Values, len(features), outputs, e.add)
	}
	return sums, err
}

// answerable reports why the trees, which learned from features, cannot answer for a dataset.
func (e *ensemble) answerable(d *ml.Dataset, features []string) error {
	if len(e.trees) == 0 {
		return fmt.Errorf("forest: a forest without trees has no answers; FitClassifier and FitRegressor grow one")
	}
	if err := d.ValidateFor(features); err != nil {
		return fmt.Errorf("forest: %w", err)
	}
	if !d.Missing || e.missing {
		return nil
	}
	if i := slices.IndexFunc(d.Values, func(v float32) bool { return v != v }); i >= 0 {
		return fmt.Errorf("forest: feature %q of row %d is missing, and the forest learned from rows that had all numbers; fill it in, leave the row out, or train with rows that lack some",
			features[i%len(features)], i/len(features))
	}
	return nil
}

// sum adds up the trees' answers for rows of columns numbers. Few rows allocate nothing.
func (e *ensemble) sum(sums []float64, values []float32, columns, outputs int) {
	if rows := len(values) / columns; rows <= leastBlock && len(sums) == rows*outputs && len(values) == rows*columns {
		clear(sums)
		e.add(sums, values)
		spoil(e, sums, values, columns, outputs)
		return
	}
	inBlocks(context.Background(), e, sums, values, columns, outputs, e.add) // which nothing ends
}

// add adds the trees' answers for some rows to sums, tree by tree.
func (e *ensemble) add(sums []float64, rows []float32) {
	if e.walker != nil {
		e.walker.add(sums, rows)
		return
	}
	for _, t := range e.trees {
		t.Add(sums, rows)
	}
}

// one adds up the trees' answers for one row.
func (e *ensemble) one(dst []float64, row []float32, columns, outputs int) {
	if len(row) != columns || len(dst) != outputs {
		panic(fmt.Sprintf("forest: a row of %d and an answer of %d numbers; the forest has %d features and %d outputs", len(row), len(dst), columns, outputs))
	}
	clear(dst)
	if e.walker != nil {
		e.walker.one(dst, row)
	} else {
		for _, t := range e.trees {
			for k, v := range t.Leaf(row) {
				dst[k] += v
			}
		}
	}
	spoil(e, dst, row, columns, outputs)
}

// spoil sets the sums of rows with a NaN or an infinity to NaN: the trees have an answer, but it means nothing. Where
// trees have learned what to do without a number, only an infinity spoils.
func spoil[T float32 | float64](e *ensemble, sums []float64, rows []T, columns, outputs int) {
	for ; len(rows) > 0; rows, sums = rows[columns:], sums[outputs:] {
		zero := T(0)
		for _, v := range rows[:columns] {
			if !e.missing || v == v {
				zero += v * 0
			}
		}
		if zero != 0 {
			for k := range outputs {
				sums[k] = math.NaN()
			}
		}
	}
}

// Limits of the rows that one goroutine takes through all trees at a time: they stay in the cache while the trees pass by,
// and they are enough for a tree, which then comes from far, to be worth its way.
const (
	leastBlock = 256
	mostBlock  = 8192
)

// blockOf returns how many rows are a block, so that all cores are done at about the same time.
func blockOf(rows, cores int) int {
	share := (rows + cores - 1) / cores
	blocks := max((share+mostBlock-1)/mostBlock, 1)
	return max((share+blocks-1)/blocks, leastBlock)
}

// inBlocks takes rows of columns numbers through add, blocks of rows on all cores, and returns ctx's cause when ctx is done
// before. Each row adds its trees in order, so the sums do not depend on the number of cores.
func inBlocks[T float32 | float64](ctx context.Context, e *ensemble, sums []float64, values []T, columns, outputs int, add func(sums []float64, rows []T)) error {
	rows := len(values) / columns
	if len(sums) != rows*outputs || len(values) != rows*columns {
		panic(fmt.Sprintf("forest: %d numbers in and %d out are no whole number of rows of %d and %d", len(values), len(sums), columns, outputs))
	}
	clear(sums)
	err := parallel(ctx, rows, blockOf(rows, runtime.GOMAXPROCS(0)), func(start, end int) {
		sums, rows := sums[start*outputs:end*outputs], values[start*columns:end*columns]
		add(sums, rows)
		spoil(e, sums, rows, columns, outputs)
	})
	if err != nil {
		return fmt.Errorf("forest: predicting %d rows stopped: %w", rows, err)
	}
	return nil
}

// parallel calls work for pieces of 0 to n, of size each, on all cores, and returns ctx's cause when ctx is done before. One
// piece is worked on here and now.
func parallel(ctx context.Context, n, size int, work func(start, end int)) error {
	var next, done atomic.Int64
	worker := func() {
		for ctx.Err() == nil {
			start := int(next.Add(int64(size))) - size
			if start >= n {
				return
			}
			end := min(start+size, n)
			work(start, end)
			done.Add(int64(end - start))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+size-1)/size) - 1 {
		others.Go(worker)
	}
	worker()
	others.Wait()
	if int(done.Load()) < n {
		return context.Cause(ctx)
	}
	return nil
}

// normalize scales probabilities to a sum of 1.
func normalize(p []float64) {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for k := range p {
		p[k] /= sum
	}
}
