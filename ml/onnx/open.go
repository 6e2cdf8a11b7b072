package onnx

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"cancha/ml/forest"
	"cancha/ml/tree"
)

// OpenClassifier reads the forest of classes in the ONNX model at path: one TreeEnsembleClassifier whose votes are shares of classes, as
// skl2onnx writes scikit-learn's RandomForestClassifier, ExtraTreesClassifier and DecisionTreeClassifier, and SaveClassifier its own. Classes
// have the names of metadata_props (class_names), or else the model's labels, whole numbers in decimal. Features have the names of
// metadata_props (feature_names), or of the columns where the graph takes each as an input, or else x0, x1 and so on; Features may be set to
// others. Its probabilities are those of onnxruntime but for the rounding of float32. A file that is damaged, or that no forest equals, is an
// error that says what and where.
func OpenClassifier(path string) (*forest.Classifier, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: open: %w", err)
	}
	f, err := decodeClassifier(data)
	if err != nil {
		return nil, fmt.Errorf("onnx: open %s: %w", path, err)
	}
	return f, nil
}

// OpenRegressor reads the forest of numbers in the ONNX model at path: one TreeEnsembleRegressor, or TreeEnsemble of ai.onnx.ml 5, with one
// target. See [OpenClassifier].
func OpenRegressor(path string) (*forest.Regressor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: open: %w", err)
	}
	f, err := decodeRegressor(data)
	if err != nil {
		return nil, fmt.Errorf("onnx: open %s: %w", path, err)
	}
	return f, nil
}

// decodeClassifier reads a file's bytes.
func decodeClassifier(data []byte) (*forest.Classifier, error) {
	p, err := decode(data, "TreeEnsembleClassifier", "class")
	if err != nil {
		return nil, err
	}
	classes, err := p.classLabels()
	if err != nil {
		return nil, err
	}
	trees, err := p.shares(len(classes))
	if err != nil {
		return nil, err
	}
	return forest.NewClassifier(p.features, classes, trees)
}

// decodeRegressor reads a file's bytes.
func decodeRegressor(data []byte) (*forest.Regressor, error) {
	p, err := decode(data, "TreeEnsembleRegressor", "target")
	if err != nil {
		return nil, err
	}
	trees, err := p.numbers()
	if err != nil {
		return nil, err
	}
	return forest.NewRegressor(p.features, trees)
}

// parsed is a file that has been read, before its trees are built.
type parsed struct {
	*ensemble
	bytes    int      // of the file
	node     *node    // the operator
	features []string // a name for each column
	classes  []string // of metadata_props; nil: not there
}

// decode reads what both kinds have, and checks what does not depend on the answers.
func decode(data []byte, operator, kind string) (*parsed, error) {
	m, err := parse(data)
	if err != nil {
		return nil, err
	}
	n, r, err := m.ensembleNode(operator)
	if err != nil {
		return nil, err
	}
	p := &parsed{bytes: len(data), node: n, classes: m.classes}
	if n.op == "TreeEnsemble" {
		p.ensemble, err = attributes5(n, operator)
	} else {
		p.ensemble, err = attributes(n, kind)
	}
	if err != nil {
		return nil, err
	}
	if p.postTransform != "NONE" {
		return nil, fmt.Errorf("%v: what its trees add up to becomes the answer by %s (post_transform), as with boosted trees, and a forest's answers are means", n, p.postTransform)
	}
	double := r.elem == typeDouble && !r.rounded
	if p.exact && !double {
		return nil, fmt.Errorf("%v: thresholds of double for rows of float; export it with rows of double", n)
	}
	p.exact = double
	return p, p.nameFeatures(m.features, r)
}

// nameFeatures gives each column a name: that of metadata_props, or of its input, or else x0, x1 and so on, as scikit-learn counts.
func (p *parsed) nameFeatures(names []string, r rows) error {
	columns := r.columns
	if columns == 0 {
		columns = int64(len(names))
	}
	if columns == 0 { // the graph does not say
		columns = slices.Max(p.feature) + 1
	}
	if columns < 1 || columns > int64(4096+p.bytes/2) {
		return fmt.Errorf("rows of %d columns; it is damaged, export it again", columns)
	}
	if names == nil {
		names = r.names
	}
	if names == nil {
		names = make([]string, columns)
		for k := range names {
			names[k] = "x" + strconv.Itoa(k)
		}
	}
	if int64(len(names)) != columns {
		return fmt.Errorf("%d names of features (metadata_props, %s) for %d columns; take them out, or write one for each", len(names), featureNames, columns)
	}
	p.features, p.columns = names, len(names)
	return nil
}

// classLabels returns the names of the classes.
func (p *parsed) classLabels() ([]string, error) {
	n := p.node
	numbers, err := n.ints("classlabels_int64s")
	if err != nil {
		return nil, err
	}
	count, err := count(n.attributes["classlabels_strings"], 9)
	if err != nil {
		return nil, n.about("classlabels_strings", err)
	}
	if len(numbers)+count > 4096+p.bytes/4 {
		return nil, fmt.Errorf("%d classes, most of which no leaf votes for; export fewer classes", len(numbers)+count)
	}
	labels := make([]string, 0, len(numbers)+count)
	for _, v := range numbers {
		labels = append(labels, strconv.FormatInt(v, 10))
	}
	if err := n.texts("classlabels_strings", func(s string) error { labels = append(labels, s); return nil }); err != nil {
		return nil, err
	}
	if len(labels) == 0 || len(numbers) > 0 && count > 0 {
		return nil, fmt.Errorf("%v has %d classlabels_int64s and %d classlabels_strings, want one of both; export it again", n, len(numbers), count)
	}
	if p.classes != nil && len(p.classes) != len(labels) {
		return nil, fmt.Errorf("%d names of classes (metadata_props, %s) for %d classes; take them out, or write one for each", len(p.classes), classNames, len(labels))
	}
	if p.classes != nil {
		return p.classes, nil
	}
	return labels, nil
}

// slack is by how much shares of a leaf that are float32, divided by the number of trees, may miss their sum.
const slack = 1e-4

// shares makes the trees of a forest of classes. A vote is a share divided by the number of trees. Two classes that have votes for one id
// alone are told apart by the second's share, whatever the id is: that is onnxruntime's rule.
func (e *ensemble) shares(classes int) ([]*tree.Tree, error) {
	for _, v := range e.base {
		if v != 0 {
			return nil, fmt.Errorf("base_values of %v: a forest adds nothing to the shares of its leaves", v)
		}
	}
	for v, id := range e.voteFor {
		if id < 0 || id >= int64(classes) {
			return nil, fmt.Errorf("node %d of tree %d votes for class %d of %d; export it again", e.voteNode[v], e.voteTree[v], id, classes)
		}
	}
	second := classes == 2 && len(e.voteFor) > 0 && !slices.ContainsFunc(e.voteFor, func(id int64) bool { return id != e.voteFor[0] })
	trees, err := e.build(classes, func(v int) (int, float64) {
		place := int(e.voteFor[v])
		if second {
			place = 1
		}
		return place, e.vote[v] * float64(e.trees)
	})
	if err != nil {
		return nil, err
	}
	for k, t := range trees {
		for start := int32(0); int(start) < len(t.Values); {
			end := start + answerSize(t, start)
			if err := e.share(t.Values[start:end], second); err != nil {
				return nil, fmt.Errorf("tree %d of %d: %w", k, e.trees, err)
			}
			start = end
		}
		sharePure(t)
	}
	return trees, nil
}

// share checks the numbers of one leaf, and gives the first of two classes what the second does not have.
func (e *ensemble) share(leaf []float64, second bool) error {
	if second {
		leaf[0] = 1 - leaf[1]
	}
	sum := 0.0
	for k, v := range leaf {
		if v < 0 && v > -slack { // 1 - 1.0000001
			v, leaf[k] = 0, 0
		}
		if v < 0 {
			return fmt.Errorf("a leaf votes with %v, and votes of a forest are shares, divided by the number of trees: these are boosted trees, or weighted ones", v/float64(e.trees))
		}
		sum += v
	}
	if !(math.Abs(sum-1) <= slack) {
		return fmt.Errorf("the votes of a leaf sum to %v, and those of a forest of %d trees to %v: these are boosted trees, or weighted ones", sum/float64(e.trees), e.trees, 1/float64(e.trees))
	}
	return nil
}

// numbers makes the trees of a forest of numbers. A vote is a leaf's number, divided by the number of trees unless their mean is taken anyway.
func (e *ensemble) numbers() ([]*tree.Tree, error) {
	if e.outputs > 1 || slices.ContainsFunc(e.voteFor, func(id int64) bool { return id != 0 }) {
		return nil, fmt.Errorf("it answers with several targets (n_targets %d), and a forest here with one; export one forest for each", e.outputs)
	}
	if len(e.base) > 1 {
		return nil, fmt.Errorf("%d base_values for one target; export it again", len(e.base))
	}
	one := !slices.ContainsFunc(e.tree, func(id int64) bool { return id != e.tree[0] })
	sum := e.aggregate == "SUM" || one && (e.aggregate == "MIN" || e.aggregate == "MAX")
	if !sum && e.aggregate != "AVERAGE" {
		return nil, fmt.Errorf("aggregate_function %s of several trees: a forest answers with their mean", e.aggregate)
	}
	trees, err := e.build(1, func(v int) (int, float64) {
		if sum {
			return 0, e.vote[v] * float64(e.trees)
		}
		return 0, e.vote[v]
	})
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		for i := range t.Values {
			for _, v := range e.base {
				t.Values[i] += v
			}
		}
	}
	return trees, nil
}
