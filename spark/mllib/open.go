package mllib

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"cancha/ml/forest"
	"cancha/ml/tree"
	"cancha/spark/mllib/internal/parquet"
)

// OpenClassifier reads the RandomForestClassificationModel or DecisionTreeClassificationModel that Spark has saved to dir, a directory of this
// machine (file:// may stand before it). Its probabilities are Spark's to 1e-12, and Predict gives Spark's class; see the package's comment for what
// is no number and no category. Classes are 0, 1 and so on, Spark's labels, and Features f0, f1 and so on, unless [SaveClassifier] has written
// it; both may be set to others, as long as they are as many. Importance is Spark's featureImportances. A directory that is damaged, and a model
// that no forest equals, are errors that name the file and say what to do.
func OpenClassifier(dir string) (*forest.Classifier, error) {
	var f *forest.Classifier
	files, err := open(dir)
	if err == nil {
		f, err = openClassifier(files)
	}
	if err != nil {
		return nil, fmt.Errorf("mllib: open %s: %w", dir, err)
	}
	return f, nil
}

// OpenRegressor reads the RandomForestRegressionModel, DecisionTreeRegressionModel or GBTRegressionModel that Spark has saved to dir; see
// [OpenClassifier]. A GBTRegressionModel's answer is a sum of trees by their weights, and becomes the mean of trees that answer so many times as
// much; its Importance is not read, and all zeros.
func OpenRegressor(dir string) (*forest.Regressor, error) {
	var f *forest.Regressor
	files, err := open(dir)
	if err == nil {
		f, err = openRegressor(files)
	}
	if err != nil {
		return nil, fmt.Errorf("mllib: open %s: %w", dir, err)
	}
	return f, nil
}

// openClassifier reads the files of a model.
func openClassifier(dir fs.FS) (*forest.Classifier, error) {
	m, err := readMetadata(dir)
	if err != nil {
		return nil, err
	}
	if err := m.refuse(dir, classification); err != nil {
		return nil, err
	}
	if err := m.checkThresholds(); err != nil {
		return nil, err
	}
	if m.NumClasses < 1 {
		return nil, errors.New("its metadata do not say how many classes there are (numClasses); save the model again")
	}
	classes, err := names(m.ClassNames, m.NumClasses, "classNames", "")
	if err != nil {
		return nil, err
	}
	features, trees, err := m.trees(dir)
	if err != nil {
		return nil, err
	}
	return forest.NewClassifier(features, classes, trees)
}

// openRegressor reads the files of a model.
func openRegressor(dir fs.FS) (*forest.Regressor, error) {
	m, err := readMetadata(dir)
	if err != nil {
		return nil, err
	}
	if err := m.refuse(dir, regression); err != nil {
		return nil, err
	}
	m.NumClasses = 0
	features, trees, err := m.trees(dir)
	if err != nil {
		return nil, err
	}
	return forest.NewRegressor(features, trees)
}

// trees reads the trees of a model, and names its features.
func (m *metadata) trees(dir fs.FS) (features []string, made []*tree.Tree, err error) {
	single := m.Class == treeClassification || m.Class == treeRegression
	t, err := readTable(dir, m.NumClasses, single)
	if err != nil {
		return nil, nil, err
	}
	if got := t.Trees(); !single && m.NumTrees != got {
		return nil, nil, fmt.Errorf("its metadata speak of %d trees, and data has %d; a file is missing, copy the model as a whole", m.NumTrees, got)
	}
	if features, err = m.features(min(t.Asked(), mostFeatures)); err != nil {
		return nil, nil, err
	}
	var boosted []float64
	if m.Class == boostedRegression {
		if boosted, err = readWeights(dir, m.NumTrees); err != nil {
			return nil, nil, err
		}
	}
	made, err = t.Build(len(features), boosted)
	return features, made, err
}

// readWeights reads the weights of boosted trees, in the order of their ids, times the number of trees, because a forest takes the mean.
func readWeights(dir fs.FS, trees int) ([]float64, error) {
	names, err := parts(dir, "treesMetadata")
	if err != nil {
		return nil, err
	}
	weights := slices.Repeat([]float64{math.NaN()}, trees)
	for _, name := range names {
		data, err := readFile(dir, name, mostPart)
		if err == nil {
			err = addWeights(data, weights)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if i := slices.IndexFunc(weights, func(v float64) bool { return v-v != 0 }); i >= 0 {
		return nil, fmt.Errorf("treesMetadata gives tree %d of %d no weight; copy the model as a whole", i, trees)
	}
	return weights, nil
}

// addWeights reads the weights of one file.
func addWeights(data []byte, weights []float64) error {
	f, err := parquet.Open(data)
	if err != nil {
		return err
	}
	ids := make([]int32, f.Rows())
	if err := f.Int32("treeID", func(row int, v int32) { ids[row] = v }); err != nil {
		return err
	}
	for row, id := range ids {
		if id < 0 || int(id) >= len(weights) {
			return fmt.Errorf("row %d is of tree %d of %d; the model is damaged, save it again", row, id, len(weights))
		}
	}
	return f.Float64("weights", func(row int, v float64) { weights[ids[row]] = v * float64(len(weights)) })
}
