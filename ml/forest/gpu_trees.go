package forest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"cancha/ml/tree"
)

// flatTrees is all trees one behind the other, as gpu.cu has them.
type flatTrees struct {
	nodes      []int64
	roots      []int32
	values     []float64
	classes    []int32 // of values; nil where answers are dense
	thresholds []float64
	depth      int
	visits     float64
}

// layFlat lays the trees one behind the other.
func layFlat(trees []*tree.Tree) (f flatTrees, err error) {
	sparse := slices.ContainsFunc(trees, func(t *tree.Tree) bool { return t.Classes != nil })
	for _, t := range trees {
		root, answers := len(f.nodes)/2, len(f.values)
		if root+len(t.Nodes) > math.MaxInt32 || answers+len(t.Values) > math.MaxInt32 {
			return f, fmt.Errorf("%d trees have more than %d nodes or answers", len(trees), math.MaxInt32)
		}
		if t.Columns >= missingRight {
			return f, fmt.Errorf("%d columns, and a GPU takes fewer than %d", t.Columns, missingRight)
		}
		if (t.Exact != nil) != (trees[0].Exact != nil) {
			return f, errors.New("some trees have exact thresholds and others have not")
		}
		f.roots, f.values, f.thresholds = append(f.roots, int32(root)), append(f.values, t.Values...), append(f.thresholds, t.Exact...)
		if sparse {
			f.classes = append(f.classes, namedClasses(t)...)
		}
		for i, n := range t.Nodes {
			f.nodes = append(f.nodes, pair(splitOf(t, i), int32(math.Float32bits(n.Threshold))), childrenOf(n, int32(root), int32(answers)))
		}
		deepest, mean := leafDepths(t)
		f.depth, f.visits = max(f.depth, deepest), f.visits+mean+1
	}
	return f, nil
}

// namedClasses are the classes of a tree's answers as sparse answers have them, those of dense ones too.
func namedClasses(t *tree.Tree) []int32 {
	if t.Classes != nil {
		return t.Classes
	}
	all := make([]int32, len(t.Values))
	for i := range all {
		all[i] = int32(i % t.Outputs)
		if int(all[i]) == t.Outputs-1 {
			all[i] = ^all[i]
		}
	}
	return all
}

// missingRight, added to a feature, sends a row that has no number there right: MISSING_RIGHT of gpu.cu.
const missingRight = 1 << 30

// splitOf is the feature of a node, and where a row without it goes.
func splitOf(t *tree.Tree, i int) int32 {
	feature := t.Nodes[i].Feature
	if feature >= 0 && t.MissingLeft != nil && !t.MissingLeft[i] {
		feature += missingRight
	}
	return feature
}

// childrenOf are the places of a node's children, or of a leaf's answer, among those of all trees.
func childrenOf(n tree.Node, root, answers int32) int64 {
	if n.Feature < 0 {
		return pair(n.Left+answers, 0)
	}
	return pair(n.Left+root, n.Right+root)
}

// pair is two numbers in one.
func pair(low, high int32) int64 { return int64(uint32(low)) | int64(high)<<32 }

// leafDepths returns the number of splits above the deepest leaf, and above a leaf in the mean.
func leafDepths(t *tree.Tree) (deepest int, mean float64) {
	depth, leaves := make([]int, len(t.Nodes)), 0
	for i, n := range t.Nodes { // children lie behind their parents
		if n.Feature < 0 {
			deepest, mean, leaves = max(deepest, depth[i]), mean+float64(depth[i]), leaves+1
			continue
		}
		depth[n.Left], depth[n.Right] = depth[i]+1, depth[i]+1
	}
	return deepest, mean / float64(max(leaves, 1))
}

// workers runs f for 0 to n-1 on all cores, and returns when all have run.
type workers func(n int, f func(i int))

// hostForest is a forest as the funcs have it, on the CPU.
type hostForest struct {
	nodes                         []int64
	roots                         []int32
	values, thresholds            []float64
	classes                       []int32 // of values, where answers are sparse
	rows, columns, outputs, depth int
	mean, missing                 bool
}

func newHostForest(a []any) hostForest {
	n := func(i int) int { return int(a[i].(int32)) }
	f := hostForest{nodes: a[2].([]int64)[:2*n(predictSize)], roots: a[3].([]int32)[:n(predictTrees)], values: a[4].([]float64)[:n(predictAnswers)],
		rows: n(predictN), columns: n(predictColumns), outputs: n(predictOutputs), depth: n(predictDepth), mean: n(predictMean) != 0, missing: n(predictMissing) != 0}
	if n(predictSparse) != 0 {
		f.classes = a[5].([]int32)[:n(predictAnswers)]
	}
	if len(a) > predictThresholds {
		f.thresholds = a[predictThresholds].([]float64)[:n(predictSize)]
	}
	return f
}

// hostBlock is how many rows a core takes at once.
const hostBlock = 512

// answerRows fills out with the forest's answers, blocks of rows on all cores.
func answerRows[X float32 | float64](f hostForest, cores workers, out []float64, rows []X) {
	cores((f.rows+hostBlock-1)/hostBlock, func(block int) {
		for i := block * hostBlock; i < min(f.rows, (block+1)*hostBlock); i++ {
			row, sums := rows[i*f.columns:][:f.columns], out[i*f.outputs:][:f.outputs]
			clear(sums)
			for _, root := range f.roots {
				f.add(sums, leafOf(f, root, row))
			}
			spoil(&ensemble{missing: f.missing}, sums, row, f.columns, f.outputs)
			f.finish(sums)
		}
	})
}

// add adds the answer that begins at a position of values; that of none, or one that does not end, is NaN.
func (f hostForest) add(sums []float64, at int) {
	switch {
	case at < 0:
		sums[0] = math.NaN() // and so all of them, when the answer is divided by their sum
	case f.classes != nil:
		f.addSparse(sums, at)
	default:
		for k, v := range f.values[at:][:len(sums)] {
			sums[k] += v
		}
	}
}

func (f hostForest) addSparse(sums []float64, at int) {
	for ; at < len(f.values); at++ {
		class := f.classes[at]
		k := max(class, ^class)
		if int(k) >= len(sums) {
			break
		}
		sums[k] += f.values[at]
		if class < 0 {
			return
		}
	}
	sums[0] = math.NaN()
}

// finish makes an answer of sums.
func (f hostForest) finish(sums []float64) {
	if !f.mean {
		normalize(sums)
		return
	}
	for k := range sums {
		sums[k] /= float64(len(f.roots))
	}
}

// leafOf is where the answer begins of the leaf that a row falls into; -1 where the nodes lead nowhere.
func leafOf[X float32 | float64](f hostForest, at int32, row []X) int {
	shortest := f.outputs
	if f.classes != nil {
		shortest = 1
	}
	for range f.depth + 1 {
		if at < 0 || int(at) >= len(f.nodes)/2 {
			return -1
		}
		split, children := f.nodes[2*int(at)], f.nodes[2*int(at)+1]
		feature, left := int32(split), int32(children)
		if feature < 0 {
			if left < 0 || int(left) > len(f.values)-shortest {
				return -1
			}
			return int(left)
		}
		column := int(feature &^ missingRight)
		if column >= len(row) {
			return -1
		}
		if v := float64(row[column]); v > f.threshold(at, split) || v != v && feature&missingRight != 0 {
			at = int32(children >> 32)
		} else {
			at = left
		}
	}
	return -1
}

// threshold is a node's.
func (f hostForest) threshold(at int32, split int64) float64 {
	if f.thresholds != nil {
		return f.thresholds[at]
	}
	return float64(math.Float32frombits(uint32(split >> 32)))
}
