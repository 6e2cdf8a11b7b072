package forest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"cancha/ml"
	"cancha/ml/tree"
)

// Classifier is a forest that answers with a probability for each class. It is safe for concurrent use.
type Classifier struct {
	Features []string // names of the columns of a row
	Classes  []string // order of the probabilities
	ensemble
}

// Regressor is a forest that answers with a number. It is safe for concurrent use.
type Regressor struct {
	Features []string // names of the columns of a row
	ensemble
}

// ensemble is a list of trees of the same shape, and what they learned by.
type ensemble struct {
	trees      []*tree.Tree
	importance []float64
}

// FitClassifier grows a forest on the labels of the dataset. It returns early with ctx's error when ctx is done.
func FitClassifier(ctx context.Context, d *ml.Dataset, c Config) (*Classifier, error) {
	c, err := check(d, c, true)
	if err != nil {
		return nil, err
	}
	class, err := classWeights(d, c)
	if err != nil {
		return nil, err
	}
	if err := checkWeights(d, class); err != nil {
		return nil, err
	}
	g, err := newGrower(ctx, d, c)
	if err != nil {
		return nil, err
	}
	g.builder, g.tree = tree.NewClassifier, c.tree(class)
	if err := g.fit(ctx, "classifier"); err != nil {
		return nil, err
	}
	return &Classifier{Features: d.Features, Classes: d.Classes, ensemble: newEnsemble(g.trees)}, nil
}

// FitRegressor grows a forest on the targets of the dataset. It returns early with ctx's error when ctx is done.
func FitRegressor(ctx context.Context, d *ml.Dataset, c Config) (*Regressor, error) {
	c, err := check(d, c, false)
	if err != nil {
		return nil, err
	}
	g, err := newGrower(ctx, d, c)
	if err != nil {
		return nil, err
	}
	g.builder, g.tree = tree.NewRegressor, c.tree(nil)
	if err := g.fit(ctx, "regressor"); err != nil {
		return nil, err
	}
	return &Regressor{Features: d.Features, ensemble: newEnsemble(g.trees)}, nil
}

// check validates the dataset and completes the settings.
func check(d *ml.Dataset, c Config, classes bool) (Config, error) {
	if err := d.Validate(); err != nil {
		return c, fmt.Errorf("forest: %w", err)
	}
	if d.Rows() == 0 {
		return c, fmt.Errorf("forest: the dataset has no rows")
	}
	if c.ByGroup && d.Groups == nil {
		return c, fmt.Errorf("forest: ByGroup draws groups of rows, and the dataset names none; set its Groups, or leave ByGroup out")
	}
	return c.normalize(classes)
}

// newEnsemble averages the trees' importances, each normalized to 1, as scikit-learn does.
func newEnsemble(trees []*tree.Tree) ensemble {
	e := ensemble{trees: trees, importance: make([]float64, trees[0].Columns)}
	for _, t := range trees {
		sum := 0.0
		for _, v := range t.Importance {
			sum += v
		}
		if sum <= 0 {
			continue
		}
		for k, v := range t.Importance {
			e.importance[k] += max(v, 0) / sum // a split without gain may have a little less than none, by rounding
		}
	}
	total := 0.0
	for _, v := range e.importance {
		total += v
	}
	for k := range e.importance {
		if total > 0 {
			e.importance[k] /= total
		}
	}
	return e
}

// Trees returns the trees. They are shared with the forest: do not change them.
func (e *ensemble) Trees() []*tree.Tree { return e.trees }

// Importance returns, for each column, its share of the impurity that all splits removed. The shares sum to 1 unless
// no tree has a split. Columns with many values are favoured, as with every impurity importance.
func (e *ensemble) Importance() []float64 { return e.importance }

// Nodes returns the number of nodes of all trees.
func (e *ensemble) Nodes() int {
	n := 0
	for _, t := range e.trees {
		n += len(t.Nodes)
	}
	return n
}

// ProbaTo fills dst, one number per class, with the probabilities for one row, one number per feature. A row with a NaN
// or an infinity has probabilities of NaN. Digits that float32 has no room for ([ml.Dataset].Exact) only PredictProba sees. It
// allocates nothing. Lengths that do not fit panic.
func (f *Classifier) ProbaTo(dst []float64, row []float32) {
	f.one(dst, row, len(f.Features), len(f.Classes))
	normalize(dst)
}

// PredictProba returns the probabilities of each row, as views into one block of memory. The dataset has the features of the
// training by name and order, and is valid: it holds no NaN. It returns early with ctx's cause when ctx is done.
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

// Predict returns the answer for each row. The dataset has the features of the training by name and order, and is valid:
// it holds no NaN. It returns early with ctx's cause when ctx is done.
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

// one adds up the trees' answers for one row.
func (e *ensemble) one(dst []float64, row []float32, columns, outputs int) {
	if len(row) != columns || len(dst) != outputs {
		panic(fmt.Sprintf("forest: a row of %d and an answer of %d numbers; the forest has %d features and %d outputs", len(row), len(dst), columns, outputs))
	}
	clear(dst)
	for _, t := range e.trees {
		for k, v := range t.Leaf(row) {
			dst[k] += v
		}
	}
	spoil(dst, row, columns, outputs)
}

// spoil sets the sums of rows with a NaN or an infinity to NaN. A walk compares a NaN as if it were the least number, so
// the trees have an answer, but it means nothing.
func spoil[T float32 | float64](sums []float64, rows []T, columns, outputs int) {
	for ; len(rows) > 0; rows, sums = rows[columns:], sums[outputs:] {
		zero := T(0)
		for _, v := range rows[:columns] {
			zero += v * 0
		}
		if zero != 0 {
			for k := range outputs {
				sums[k] = math.NaN()
			}
		}
	}
}

// blockRows is how many rows one goroutine takes through all trees at a time: the rows stay in the cache while the
// trees pass by.
const blockRows = 512

// batch returns the sums of the trees' answers for all rows of a dataset.
func (e *ensemble) batch(d *ml.Dataset, features []string, outputs int) ([]float64, error) {
	if err := d.ValidateFor(features); err != nil {
		return nil, fmt.Errorf("forest: %w", err)
	}
	sums := make([]float64, d.Rows()*outputs)
	if d.Exact != nil && e.trees[0].Exact != nil {
		walk(sums, d.Exact, len(features), outputs, func(sums, rows []float64) {
			for _, t := range e.trees {
				t.AddExact(sums, rows)
			}
		})
		return sums, nil
	}
	e.sum(sums, d.Values, len(features), outputs)
	return sums, nil
}

// sum adds up the trees' answers for rows of columns numbers.
func (e *ensemble) sum(sums []float64, values []float32, columns, outputs int) {
	walk(sums, values, columns, outputs, func(sums []float64, rows []float32) {
		for _, t := range e.trees {
			t.Add(sums, rows)
		}
	})
}

// walk takes rows of columns numbers through add, blocks of rows on all cores. Each row adds its trees in order, so the
// sums do not depend on the number of cores. Few rows are walked here and now.
func walk[T float32 | float64](sums []float64, values []T, columns, outputs int, add func(sums []float64, rows []T)) {
	rows := len(values) / columns
	if len(sums) != rows*outputs || len(values) != rows*columns {
		panic(fmt.Sprintf("forest: %d numbers in and %d out are no whole number of rows of %d and %d", len(values), len(sums), columns, outputs))
	}
	clear(sums)
	block := func(start int) {
		end := min(start+blockRows, rows)
		sums, rows := sums[start*outputs:end*outputs], values[start*columns:end*columns]
		add(sums, rows)
		spoil(sums, rows, columns, outputs)
	}
	workers := min(runtime.GOMAXPROCS(0), (rows+blockRows-1)/blockRows)
	if workers <= 1 {
		for start := 0; start < rows; start += blockRows {
			block(start)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for start := int(next.Add(blockRows)) - blockRows; start < rows; start = int(next.Add(blockRows)) - blockRows {
				block(start)
			}
		})
	}
	done.Wait()
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
