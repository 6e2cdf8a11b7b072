package forest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"

	"cancha/ml"
	"cancha/ml/tree"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
)

// SessionClassifier is a [Classifier] that answers where a session chooses, on its GPU or on the CPU; everything else it does as the forest that
// it is made of, whose answers are the same to the bit. Close gives back what it has on the GPU; the forest stays usable.
type SessionClassifier struct {
	*Classifier
	placed
}

// SessionRegressor is to a [Regressor] what [SessionClassifier] is to a Classifier.
type SessionRegressor struct {
	*Regressor
	placed
}

// Forests in a session are models as any other.
var (
	_ ml.Classifier = (*SessionClassifier)(nil)
	_ ml.Regressor  = (*SessionRegressor)(nil)
)

// On returns the forest as it answers in a session: what its device setting says ("cpu", "gpu"), or with "auto" where the cost model expects it to
// be faster, which is the GPU for many rows. The nodes go to the GPU with the first answer from there, and stay. Session.Explain tells why each
// batch ran where it did. A forest of more than 2^31 nodes or answers is an error.
func (f *Classifier) On(s *gpu.Session) (*SessionClassifier, error) {
	p, err := newPlaced(s, &f.ensemble, len(f.Features), len(f.Classes), false)
	if err != nil {
		return nil, err
	}
	return &SessionClassifier{f, p}, nil
}

// On returns the forest as it answers in a session; see [Classifier.On].
func (f *Regressor) On(s *gpu.Session) (*SessionRegressor, error) {
	p, err := newPlaced(s, &f.ensemble, len(f.Features), 1, true)
	if err != nil {
		return nil, err
	}
	return &SessionRegressor{f, p}, nil
}

// PredictProba returns the probabilities of each row as [Classifier.PredictProba] does, bit for bit. It returns with ctx's cause when ctx is done.
func (f *SessionClassifier) PredictProba(ctx context.Context, d *ml.Dataset) ([][]float64, error) {
	if err := f.answerable(d, f.Features); err != nil {
		return nil, err
	}
	var rows [][]float64
	onGPU := func() []float64 {
		all := make([]float64, d.Rows()*len(f.Classes))
		rows = probaRows(all, len(f.Classes))
		return all
	}
	err := f.predict(ctx, d, onGPU, func(ctx context.Context) (err error) {
		rows, err = f.Classifier.PredictProba(ctx, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Predict returns the most probable class of each row, an index into Classes; the first of equals.
func (f *SessionClassifier) Predict(ctx context.Context, d *ml.Dataset) ([]int, error) {
	p, err := f.PredictProba(ctx, d)
	if err != nil {
		return nil, err
	}
	return ml.MostProbable(p), nil
}

// Score returns the accuracy on rows with labels, by their weights; see [ml.ScoreClassifier].
func (f *SessionClassifier) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	return ml.ScoreClassifier(ctx, f, f.Classes, d)
}

// ProbasTo fills dst as [Classifier.ProbasTo] does. Lengths that do not fit are an error.
func (f *SessionClassifier) ProbasTo(ctx context.Context, dst []float64, values []float32) error {
	if err := f.fitting(dst, values); err != nil {
		return err
	}
	return predictIn(ctx, &f.placed, func() []float64 { return dst }, values, func(ctx context.Context) error {
		f.Classifier.ProbasTo(dst, values)
		return nil
	})
}

// Predict returns the answer for each row as [Regressor.Predict] does, bit for bit. It returns with ctx's cause when ctx is done.
func (f *SessionRegressor) Predict(ctx context.Context, d *ml.Dataset) ([]float64, error) {
	if err := f.answerable(d, f.Features); err != nil {
		return nil, err
	}
	var out []float64
	onGPU := func() []float64 {
		out = make([]float64, d.Rows())
		return out
	}
	err := f.predict(ctx, d, onGPU, func(ctx context.Context) (err error) {
		out, err = f.Regressor.Predict(ctx, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Score returns R² on rows with targets, by their weights; see [ml.ScoreRegressor].
func (f *SessionRegressor) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	return ml.ScoreRegressor(ctx, f, d)
}

// ValuesTo fills dst as [Regressor.ValuesTo] does. Lengths that do not fit are an error.
func (f *SessionRegressor) ValuesTo(ctx context.Context, dst []float64, values []float32) error {
	if err := f.fitting(dst, values); err != nil {
		return err
	}
	return predictIn(ctx, &f.placed, func() []float64 { return dst }, values, func(ctx context.Context) error {
		f.Regressor.ValuesTo(dst, values)
		return nil
	})
}

// probaRows are the rows of k numbers in one block of memory.
func probaRows(all []float64, k int) [][]float64 {
	out := make([][]float64, len(all)/k)
	for i := range out {
		out[i] = all[i*k : (i+1)*k : (i+1)*k]
	}
	return out
}

// placed is a forest in a session: its trees as the funcs have them.
type placed struct {
	session          *gpu.Session
	nodes            *gpu.Int64s
	roots            *gpu.Int32s
	values           *gpu.Float64s
	classes          *gpu.Int32s   // of values, where they are sparse
	thresholds       *gpu.Float64s // nil unless the forest learned from exact values
	columns, outputs int
	depth            int
	visits           float64 // nodes that a row sees on its way through all trees, as a mean over the leaves
	mean             int     // 1 where the answer is the mean of the trees'
	missing          int     // 1 where trees have learned what to do without a number
	sparse           int     // 1 where answers name their classes
}

// newPlaced makes buffers of the trees, in the machine's memory at first; none where the session has no GPU that would read them.
func newPlaced(s *gpu.Session, e *ensemble, columns, outputs int, mean bool) (p placed, err error) {
	p = placed{session: s, columns: columns, outputs: outputs, mean: flag(mean), missing: flag(e.missing)}
	if _, device := s.Devices(); device == nil {
		return p, nil
	}
	if err := p.settle(e.trees); err != nil {
		return p, errors.Join(fmt.Errorf("forest: place a forest in a session: %w", err), p.Close())
	}
	return p, nil
}

func flag(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// settle lays the trees flat, and has the session know the funcs.
func (p *placed) settle(trees []*tree.Tree) error {
	all, err := layFlat(trees)
	if err != nil {
		return err
	}
	p.depth, p.visits, p.sparse = all.depth, all.visits, flag(all.classes != nil)
	return errors.Join(p.load(), p.fill(all))
}

func (p *placed) load() error {
	l, err := library()
	if err != nil {
		return err
	}
	return p.session.Load(l)
}

func (p *placed) fill(all flatTrees) (err error) {
	s := p.session
	if p.nodes, err = gpu.NewInt64s(s, all.nodes); err != nil {
		return err
	}
	if p.roots, err = gpu.NewInt32s(s, all.roots); err != nil {
		return err
	}
	if p.values, err = gpu.NewFloat64s(s, all.values); err != nil {
		return err
	}
	if p.classes, err = gpu.NewInt32s(s, all.classes); err != nil || all.thresholds == nil {
		return err
	}
	p.thresholds, err = gpu.NewFloat64s(s, all.thresholds)
	return err
}

// Close gives back the memory that the trees have in the session.
func (p *placed) Close() error {
	var errs []error
	for _, b := range p.buffers() {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// buffers are those that there are, in the order of the funcs' parameters.
func (p *placed) buffers() (all []gpu.Buffer) {
	if p.nodes != nil {
		all = append(all, p.nodes)
	}
	if p.roots != nil {
		all = append(all, p.roots)
	}
	if p.values != nil {
		all = append(all, p.values)
	}
	if p.classes != nil {
		all = append(all, p.classes)
	}
	if p.thresholds != nil {
		all = append(all, p.thresholds)
	}
	return all
}

// fitting refuses rows and answers that are no whole number of rows.
func (p *placed) fitting(dst []float64, values []float32) error {
	if rows := len(values) / p.columns; len(values) != rows*p.columns || len(dst) != rows*p.outputs {
		return fmt.Errorf("forest: %d numbers in and %d out are no whole number of rows of %d and %d", len(values), len(dst), p.columns, p.outputs)
	}
	return nil
}

// predict fills what out returns with the answers for a dataset that they can answer for; where the CPU is chosen, onCPU answers in its own way instead.
func (p *placed) predict(ctx context.Context, d *ml.Dataset, out func() []float64, onCPU func(context.Context) error) error {
	if p.thresholds != nil && d.Exact != nil {
		return predictIn(ctx, p, out, d.Exact, onCPU)
	}
	return predictIn(ctx, p, out, d.Values, onCPU)
}

// predictIn has the session choose, and does the work.
func predictIn[X float32 | float64](ctx context.Context, p *placed, out func() []float64, rows []X, onCPU func(context.Context) error) error {
	n := len(rows) / p.columns
	work := predictWork(int64(n), p.visits, int64(p.columns), int64(p.outputs))
	kind, _, err := driver.SliceType(rows)
	if err != nil {
		return err
	}
	job := gpu.Job{
		Name: "forest predict", Size: n, Bytes: work.Bytes, Flops: work.Flops, Launches: (n + p.chunk() - 1) / p.chunk(), Reads: p.buffers(), CPU: onCPU,
		Copied: int64(kind.Size())*int64(len(rows)) + 8*int64(n*p.outputs),
		Run: func(ctx context.Context, d driver.Device, q driver.Queue) error {
			if p.thresholds != nil { // the trees compare float64
				return predictOn(ctx, p, d, q, out(), widened(rows))
			}
			return predictOn(ctx, p, d, q, out(), rows)
		},
	}
	return p.session.Do(ctx, job)
}

// widened are numbers as float64.
func widened[X float32 | float64](rows []X) []float64 {
	if same, ok := any(rows).([]float64); ok {
		return same
	}
	out := make([]float64, len(rows))
	for i, v := range rows {
		out[i] = float64(v)
	}
	return out
}

// chunkBytes bounds the rows and answers that are on a GPU at once: copies of this size are as fast as larger ones.
const chunkBytes = 64 << 20

// chunk is how many rows are answered at once.
func (p *placed) chunk() int { return max(1, chunkBytes/(8*(p.columns+p.outputs))) }

// predictOn answers chunk by chunk.
func predictOn[X float32 | float64](ctx context.Context, p *placed, d driver.Device, q driver.Queue, out []float64, rows []X) error {
	n, size := len(out)/p.outputs, p.chunk()
	if n == 0 {
		return nil
	}
	kind, _, err := driver.SliceType(rows)
	if err != nil {
		return err
	}
	in, err := d.Alloc(kind, min(n, size)*p.columns)
	if err != nil {
		return err
	}
	answers, err := d.Alloc(driver.Float64, min(n, size)*p.outputs)
	if err != nil {
		return err
	}
	for from := 0; from < n; from += size {
		to := min(n, from+size)
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("after %d of %d rows: %w", from, n, err)
		}
		l, err := p.launch(d, answers, in, to-from)
		if err != nil {
			return err
		}
		if err := q.CopyIn(in, 0, rows[from*p.columns:to*p.columns]); err != nil {
			return err
		}
		if err := q.Launch(l); err != nil {
			return err
		}
		if err := q.CopyOut(out[from*p.outputs:to*p.outputs], answers, 0); err != nil {
			return err
		}
	}
	return nil
}

// launch is the func for n rows.
func (p *placed) launch(d driver.Device, out, rows driver.Memory, n int) (l driver.Launch, err error) {
	l.Func, l.Args = "forest_predict", []driver.Arg{driver.At(out, 0), driver.At(rows, 0)}
	buffers := p.buffers()
	for _, b := range buffers {
		m, err := gpu.Memory(d, b)
		if err != nil {
			return l, err
		}
		l.Args = append(l.Args, driver.At(m, 0))
	}
	thresholds := l.Args[predictN:]
	l.Args = append(slices.Clip(l.Args[:predictN]), driver.Int(n), driver.Int(p.columns), driver.Int(p.outputs), driver.Int(p.roots.Len()), driver.Int(p.depth),
		driver.Int(p.nodes.Len()/2), driver.Int(p.values.Len()), driver.Int(p.mean), driver.Int(p.missing), driver.Int(p.sparse))
	if len(thresholds) > 0 {
		l.Func, l.Args = "forest_predict_exact", append(l.Args, thresholds...)
	}
	return l, nil
}

//go:embed gpu.cu
var gpuSource string

//go:embed gpu.ptx
var gpuPTX string

// library is what forests do on a GPU.
var library = sync.OnceValues(func() (*driver.Library, error) {
	return driver.NewLibrary("ml/forest", gpuSource, gpuPTX, predictFunc(false), predictFunc(true), clearFunc(), histogramFunc(false), histogramFunc(true))
})

// predictWork is what it takes to send n rows through trees, of which each row sees so many nodes.
func predictWork(n int64, visits float64, columns, outputs int64) driver.Work {
	const node = 16 // bytes
	return driver.Work{Bytes: int64(float64(n)*visits*node) + n*(4*columns+8*outputs), Flops: float64(n) * visits}
}

// Where the numbers stand among the arguments of forest_predict.
const (
	predictN = iota + 6
	predictColumns
	predictOutputs
	predictTrees
	predictDepth
	predictSize
	predictAnswers
	predictMean
	predictMissing
	predictSparse
	predictThresholds // of forest_predict_exact, in memory
)

func predictFunc(exact bool) driver.LibraryFunc {
	f := driver.LibraryFunc{
		Name: "forest_predict",
		Doc: "row i of out = the answer of a forest for row i of rows: the sum of its trees' answers in their order, divided by its own sum, or by the number of trees " +
			"where mean is not 0. Node k is nodes[2k], the feature and above it the threshold's bits, and nodes[2k+1], the left child and above it the right; in a leaf, whose " +
			"feature is below 0, left is where its answer begins in values: outputs numbers, or where sparse is not 0 shares of the classes beside them, up to the first below 0, which stands for its complement. roots are those of the trees. A NaN goes left, but right where 2^30 was added to the feature. A row with " +
			"an infinity, or with a NaN unless missing is not 0, and one that comes to no leaf within depth splits, has NaN",
		Params: []string{"out double* out", "const float* rows", "const long long* nodes", "const int* roots", "const double* values", "const int* classes",
			"int n", "int columns", "int outputs", "int trees", "int depth", "int size", "int answers", "int mean", "int missing", "int sparse"},
		Need: func(a driver.Args) map[int]int64 {
			n, size, answers := a.N(predictN), a.N(predictSize), a.N(predictAnswers)
			need := map[int]int64{0: driver.Product(n, a.N(predictOutputs)), 1: driver.Product(n, a.N(predictColumns)), 2: 2 * size, 3: a.N(predictTrees), 4: answers}
			if a.N(predictSparse) != 0 {
				need[5] = answers
			}
			if exact {
				need[predictThresholds] = size
			}
			return need
		},
		Grid: func(a driver.Args, multiprocessors int) driver.Grid {
			return driver.Each(a.N(predictN), multiprocessors)
		},
		Work: func(a driver.Args) driver.Work {
			return predictWork(a.N(predictN), float64(a.N(predictTrees)*(a.N(predictDepth)+1)), a.N(predictColumns), a.N(predictOutputs))
		},
		Host: func(cores driver.Cores, a []any) {
			f := newHostForest(a)
			if rows, ok := a[1].([]float32); ok {
				answerRows(f, workers(cores), a[0].([]float64), rows)
			} else {
				answerRows(f, workers(cores), a[0].([]float64), a[1].([]float64))
			}
		},
	}
	if exact {
		f.Name, f.Doc = "forest_predict_exact", "forest_predict with thresholds that have all their digits, which are asked instead of those of nodes"
		f.Params = append(f.Params, "const double* thresholds")
		f.Params[1] = "const double* rows"
	}
	return f
}

func clearFunc() driver.LibraryFunc {
	return driver.LibraryFunc{
		Name: "forest_clear", Doc: "histograms[i] = 0", Params: []string{"out unsigned* histograms", "int n"},
		Need: func(a driver.Args) map[int]int64 { return map[int]int64{0: a.N(1)} },
		Grid: func(a driver.Args, multiprocessors int) driver.Grid { return driver.Each(a.N(1), multiprocessors) },
		Work: func(a driver.Args) driver.Work { return driver.Work{Bytes: 4 * a.N(1)} },
		Host: func(_ driver.Cores, a []any) { clear(a[0].([]uint32)[:a[1].(int32)]) },
	}
}

// sharedCounts is how many counts a block has room for in shared memory: SHARED_COUNTS of gpu.cu.
const sharedCounts = 48 << 10 / 4

// histogramWork is what it takes to count so many positions for so many columns each.
func histogramWork(positions, most int64) driver.Work {
	return driver.Work{Bytes: driver.Product(positions, most, 14), Flops: float64(positions) * float64(most)}
}

// histogramFunc counts; labels of up to 256 classes are bytes.
func histogramFunc(many bool) driver.LibraryFunc {
	f := driver.LibraryFunc{
		Name: "forest_histograms",
		Doc: "adds draws to histograms[node][j][code][label], and 1 to histograms[node][j][code][classes], of 256 codes, for each task, a node with the positions from a start to an end, and each j below most: " +
			"the code is that of row order[position] in column drawn[node][j], codes[column][row]; label and draws are those of the position. Whole numbers, so the order does not " +
			"matter. A node, column, row or label that is not there counts nothing, and so does a task whose positions are not",
		Params: []string{"unsigned* histograms", "const unsigned char* codes", "const unsigned* order", "const unsigned char* labels", "const unsigned* draws", "const int* tasks",
			"const int* drawn", "int count", "int most", "int positions", "int rows", "int columns", "int classes", "int nodes"},
		Need: func(a driver.Args) map[int]int64 {
			positions := a.N(9)
			return map[int]int64{0: driver.Product(a.N(13), a.N(8), histogramBins, a.N(12)+1), 1: driver.Product(a.N(11), a.N(10)), 2: positions, 3: positions, 4: positions,
				5: driver.Product(3, a.N(7)), 6: driver.Product(a.N(13), a.N(8))}
		},
		Grid: func(a driver.Args, _ int) driver.Grid {
			g := driver.Grid{Blocks: driver.Product(a.N(7), a.N(8))}
			if counts := histogramBins * (a.N(12) + 1); counts <= sharedCounts {
				g.Shared = int(4 * counts)
			}
			return g
		},
		Work: func(a driver.Args) driver.Work {
			return histogramWork(a.N(9), a.N(8))
		},
		Host: func(cores driver.Cores, a []any) { newHostHistograms(a).count(workers(cores)) },
	}
	if many {
		f.Name, f.Doc = "forest_histograms_of_many", "forest_histograms with labels of up to 65,536 classes"
		f.Params[3] = "const unsigned short* labels"
	}
	return f
}
