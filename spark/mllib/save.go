package mllib

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"cancha/ml/forest"
	"cancha/ml/tree"
)

// sparkVersion is the version whose layout is written. Spark 3 reads it too.
const sparkVersion = "4.0.0"

// SaveClassifier writes a forest of classes to dir as a RandomForestClassificationModel, which Spark loads by RandomForestClassificationModel.load
// and whose probabilities there are the forest's to 1e-12, for rows of float64 too: where trees here round a number to float32 first, thresholds
// are set to where that rounding changes. The labels there are the indices of Classes. The directory must not exist yet, as with Spark's save, and
// is there whole or not at all; missing folders above it are made. It is one of this machine (file:// may stand before it).
//
// What a forest here does not keep is written as not known: the number of rows and the gain of a node are 0, so featureImportances there are zeros,
// and a leaf's statistics are its shares. A forest that sends rows that lack a number to the left somewhere is refused: Spark sends them right.
func SaveClassifier(dir string, f *forest.Classifier) error {
	err := save(dir, model{metadata: metadata{Class: forestClassification, NumFeatures: len(f.Features), NumClasses: len(f.Classes), FeatureNames: f.Features, ClassNames: f.Classes},
		tree: treeClassification, kind: "rfc", trees: f.Trees(), impurity: "gini", leaf: sharesOf})
	if err != nil {
		return fmt.Errorf("mllib: save %s: %w", dir, err)
	}
	return nil
}

// SaveRegressor writes a forest of numbers to dir as a RandomForestRegressionModel; see [SaveClassifier]. The variance that Spark's varianceCol
// reports is that among the trees alone: within a leaf it is not known, and written as 0.
func SaveRegressor(dir string, f *forest.Regressor) error {
	err := save(dir, model{metadata: metadata{Class: forestRegression, NumFeatures: len(f.Features), FeatureNames: f.Features},
		tree: treeRegression, kind: "rfr", trees: f.Trees(), impurity: "variance", leaf: meanOf})
	if err != nil {
		return fmt.Errorf("mllib: save %s: %w", dir, err)
	}
	return nil
}

// model is what is written.
type model struct {
	metadata
	tree     string // class of a tree
	kind     string // how Spark's names of such a model begin
	impurity string
	trees    []*tree.Tree
	leaf     func(answer []float64) (prediction, impurity float64, stats []float64)
}

// sharesOf says what a leaf of a classifier is in Spark: its class, Gini's impurity and a weight for each class.
func sharesOf(answer []float64) (prediction, impurity float64, stats []float64) {
	impurity = 1
	for _, v := range answer {
		impurity -= v * v
	}
	return float64(slices.Index(answer, slices.Max(answer))), max(impurity, 0), answer
}

// meanOf says what a leaf of a regressor is: one row's count, sum and sum of squares.
func meanOf(answer []float64) (prediction, impurity float64, stats []float64) {
	return answer[0], 0, []float64{1, answer[0], answer[0] * answer[0]}
}

// dataRow, nodeData and splitData are rows of data; the names are Spark's.
type dataRow struct {
	TreeID   int32    `parquet:"treeID"`
	NodeData nodeData `parquet:"nodeData"`
}

type nodeData struct {
	ID            int32     `parquet:"id"`
	Prediction    float64   `parquet:"prediction"`
	Impurity      float64   `parquet:"impurity"`
	ImpurityStats []float64 `parquet:"impurityStats,list"`
	RawCount      int64     `parquet:"rawCount"`
	Gain          float64   `parquet:"gain"`
	LeftChild     int32     `parquet:"leftChild"`
	RightChild    int32     `parquet:"rightChild"`
	Split         splitData `parquet:"split"`
}

type splitData struct {
	FeatureIndex              int32     `parquet:"featureIndex"`
	LeftCategoriesOrThreshold []float64 `parquet:"leftCategoriesOrThreshold,list"`
	NumCategories             int32     `parquet:"numCategories"`
}

// treeRow is a row of treesMetadata.
type treeRow struct {
	TreeID   int32   `parquet:"treeID"`
	Metadata string  `parquet:"metadata,plain"`
	Weights  float64 `parquet:"weights"`
}

// save writes a model beside dir first, and gives it the name when it is whole.
func save(dir string, m model) error {
	if err := m.check(); err != nil {
		return err
	}
	path, err := local(dir)
	if err != nil {
		return fmt.Errorf("%w; save it to a local directory, and copy that there, such as by hadoop fs -put DIRECTORY %s", err, dir)
	}
	dir = path
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.New("it is there already; remove it, or choose another name")
		}
		return err
	}
	above := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(above, 0o777); err != nil {
		return err
	}
	part, err := os.MkdirTemp(above, "."+filepath.Base(dir)+".*.partial")
	if err != nil {
		return err
	}
	if err = m.write(part); err == nil {
		err = os.Rename(part, dir)
	}
	if err != nil {
		os.RemoveAll(part)
	}
	return err
}

// check says what Spark could not answer as the forest does.
func (m *model) check() error {
	if len(m.trees) == 0 {
		return errors.New("a forest without trees; FitClassifier and FitRegressor grow one")
	}
	for k, t := range m.trees {
		for i, n := range t.Nodes {
			if n.Feature >= 0 && t.MissingLeft != nil && t.MissingLeft[i] {
				return fmt.Errorf("tree %d sends rows that lack %q to the left, and Spark sends them right; train with rows that have all numbers", k, m.FeatureNames[n.Feature])
			}
		}
	}
	return nil
}

// write writes the three folders of a model.
func (m *model) write(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil { // a temporary folder is its owner's alone
		return err
	}
	line, err := m.line(m.Class, m.kind)
	if err != nil {
		return err
	}
	err = writePart(dir, "metadata", "part-00000", func(file *os.File) error { _, err := file.Write(append(line, '\n')); return err })
	if err != nil {
		return err
	}
	err = writePart(dir, "treesMetadata", "part-00000.snappy.parquet", func(file *os.File) error { return m.writeTrees(file) })
	if err != nil {
		return err
	}
	return writePart(dir, "data", "part-00000.snappy.parquet", func(file *os.File) error { return m.writeNodes(file) })
}

// line returns the metadata of the model, or of one of its trees.
func (m *model) line(class, kind string) ([]byte, error) {
	impurity, err := json.Marshal(m.impurity)
	if err != nil {
		return nil, err
	}
	one, params := metadata{}, map[string]json.RawMessage{"impurity": impurity}
	if class == m.Class {
		one = m.metadata
		one.NumTrees = len(m.trees)
		params["numTrees"] = strconv.AppendInt(nil, int64(len(m.trees)), 10) // by which Spark divides a regressor's sum; it is 20 unless it is set
	}
	id := make([]byte, 6)
	rand.Read(id) // which never fails
	one.Class, one.Timestamp, one.SparkVersion, one.UID = class, time.Now().UnixMilli(), sparkVersion, kind+"_"+hex.EncodeToString(id)
	one.ParamMap, one.DefaultParamMap = params, map[string]json.RawMessage{}
	return json.Marshal(one)
}

// writePart writes a folder of one file and the mark that it is whole.
func writePart(dir, folder, name string, write func(*os.File) error) error {
	if err := os.Mkdir(filepath.Join(dir, folder), 0o777); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, folder, name))
	if err != nil {
		return err
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, folder, "_SUCCESS"), nil, 0o666)
}

// options are how both tables are written: as Spark writes them.
func options() []pq.WriterOption {
	return []pq.WriterOption{pq.Compression(&pq.Snappy), pq.DataPageVersion(1), pq.CreatedBy("cancha", "1", "spark/mllib"), pq.MaxRowsPerRowGroup(1 << 18)}
}

// writeTrees writes a row for each tree. All have the weight 1, as Spark's.
func (m *model) writeTrees(file *os.File) error {
	w := pq.NewGenericWriter[treeRow](file, options()...)
	for k := range m.trees {
		line, err := m.line(m.tree, "dt"+m.kind[2:])
		if err != nil {
			return err
		}
		if _, err := w.Write([]treeRow{{int32(k), string(line), 1}}); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeNodes writes a row for each node of all trees.
func (m *model) writeNodes(file *os.File) error {
	w := pq.NewGenericWriter[dataRow](file, options()...)
	rows := make([]dataRow, 0, 1024)
	for k, t := range m.trees {
		for i := range t.Nodes {
			if rows = append(rows, dataRow{int32(k), m.node(t, i)}); len(rows) < cap(rows) {
				continue
			}
			if _, err := w.Write(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if _, err := w.Write(rows); err != nil {
		return err
	}
	return w.Close()
}

// node is a node as Spark has it. Nodes here are in the order that Spark asks for: children behind their parents, none left out.
func (m *model) node(t *tree.Tree, i int) nodeData {
	n := t.Nodes[i]
	d := nodeData{ID: int32(i), LeftChild: n.Left, RightChild: n.Right, Split: splitData{FeatureIndex: n.Feature, NumCategories: -1}}
	if n.Feature >= 0 {
		d.Split.LeftCategoriesOrThreshold = []float64{threshold(t, i)}
		_, _, d.ImpurityStats = m.leaf(make([]float64, t.Outputs))
		return d
	}
	d.LeftChild, d.RightChild, d.Gain = -1, -1, -1
	d.Prediction, d.Impurity, d.ImpurityStats = m.leaf(t.Answer(i))
	return d
}

// threshold is the largest float64 that a split sends left. A tree without exact thresholds rounds a number to float32, halves to even, before it
// compares: so these are all up to halfway to the next float32, and halfway too if that is rounded down.
func threshold(t *tree.Tree, i int) float64 {
	if t.Exact != nil {
		return t.Exact[i]
	}
	low := t.Nodes[i].Threshold
	next := float64(math.Nextafter32(low, float32(math.Inf(1))))
	if low == math.MaxFloat32 {
		next = 0x1p128
	}
	half := float64(low)/2 + next/2
	if float32(half) > low {
		half = math.Nextafter(half, math.Inf(-1))
	}
	return half
}
