package mllib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Classes of Spark's models.
const (
	sparkML               = "org.apache.spark.ml."
	classification        = sparkML + "classification."
	regression            = sparkML + "regression."
	forestClassification  = classification + "RandomForestClassificationModel"
	treeClassification    = classification + "DecisionTreeClassificationModel"
	boostedClassification = classification + "GBTClassificationModel"
	forestRegression      = regression + "RandomForestRegressionModel"
	treeRegression        = regression + "DecisionTreeRegressionModel"
	boostedRegression     = regression + "GBTRegressionModel"
	pipeline              = sparkML + "PipelineModel"
)

// Limits of what a line of metadata may promise: HashingTF has 262,144 features unless it is told otherwise.
const (
	mostMetadata = 16 << 20
	mostFeatures = 1 << 18
	mostClasses  = 1 << 16
)

// metadata is the line of JSON of a model: what DefaultParamsWriter writes for all, what forests add, and the names that are added here.
type metadata struct {
	Class           string                     `json:"class"`
	Timestamp       int64                      `json:"timestamp"` // milliseconds since 1970
	SparkVersion    string                     `json:"sparkVersion"`
	UID             string                     `json:"uid"`
	ParamMap        map[string]json.RawMessage `json:"paramMap"`        // what the user has set
	DefaultParamMap map[string]json.RawMessage `json:"defaultParamMap"` // since 2.4
	NumFeatures     int                        `json:"numFeatures,omitempty"`
	NumClasses      int                        `json:"numClasses,omitempty"`
	NumTrees        int                        `json:"numTrees,omitempty"`
	FeatureNames    []string                   `json:"featureNames,omitempty"` // ours; Spark passes over them
	ClassNames      []string                   `json:"classNames,omitempty"`
}

// readMetadata reads the metadata of a model, which is the first line of the files in its folder.
func readMetadata(dir fs.FS) (*metadata, error) {
	names, err := parts(dir, "metadata")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := readFile(dir, name, mostMetadata)
		if err != nil {
			return nil, err
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue // of a part without rows
		}
		m := &metadata{}
		if err := json.Unmarshal(line, m); err != nil {
			return nil, fmt.Errorf("%s is no metadata of a model (%w); copy it again, or write it without compression", name, err)
		}
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return m, nil
	}
	return nil, errors.New("the files of metadata are empty; the directory was not copied as a whole")
}

// check checks what holds for all models.
func (m *metadata) check() error {
	if m.Class == "" {
		return errors.New("it does not name the class of a model; the directory is none of Spark ML")
	}
	if m.NumFeatures > mostFeatures || m.NumClasses > mostClasses {
		return fmt.Errorf("%d features and %d classes; up to %d and %d are read", m.NumFeatures, m.NumClasses, mostFeatures, mostClasses)
	}
	if m.NumTrees < 0 || m.NumClasses < 0 {
		return fmt.Errorf("%d trees and %d classes; it is damaged, copy it again", m.NumTrees, m.NumClasses)
	}
	return nil
}

// refuse says why the model is not of the kind that is wanted, classification or regression, and what to open instead.
func (m *metadata) refuse(dir fs.FS, kind string) error {
	name := strings.TrimPrefix(m.Class, sparkML)
	switch m.Class {
	case forestClassification, treeClassification, forestRegression, treeRegression, boostedRegression:
		if !strings.HasPrefix(m.Class, kind) {
			return fmt.Errorf("it is a %s; open it as the other kind (OpenClassifier, OpenRegressor)", name)
		}
		return nil
	case boostedClassification:
		return errors.New("it is a GBTClassificationModel: its trees add up to the logarithm of odds, and a forest's to shares of classes; train a RandomForestClassifier")
	case pipeline:
		return fmt.Errorf("it is a PipelineModel of several stages; open the directory of its forest%s, and do what the stages before it do", stages(dir))
	}
	return fmt.Errorf("it is a %s, and those that are read are random forests, decision trees and GBTRegressionModel; in a CrossValidatorModel or a TrainValidationSplitModel open bestModel", name)
}

// stages names the stages of a pipeline that are forests or trees.
func stages(dir fs.FS) string {
	all, err := fs.ReadDir(dir, "stages")
	if err != nil {
		return ""
	}
	var found []string
	for _, e := range all {
		for _, kind := range []string{"RandomForest", "DecisionTree", "GBT", "rfc_", "rfr_", "dtc_", "dtr_"} {
			if strings.Contains(e.Name(), kind) && len(found) < 5 {
				found = append(found, "stages/"+e.Name())
				break
			}
		}
	}
	if found == nil {
		return ""
	}
	return ", " + strings.Join(found, " or ")
}

// checkThresholds refuses a model whose class is not the one of the largest probability: the one of the largest p/threshold.
func (m *metadata) checkThresholds() error {
	text, ok := m.ParamMap["thresholds"]
	if !ok {
		return nil
	}
	var all []float64
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("thresholds %.100s are no list of numbers; copy the model again", text)
	}
	if slices.ContainsFunc(all, func(v float64) bool { return v != all[0] }) {
		return fmt.Errorf("its thresholds are %v, by which the class is not always that of the largest probability; save it without (model.clear(model.thresholds)), and choose by the probabilities", all)
	}
	return nil
}

// features returns the names of the columns. Models of Spark's older interface do not say how many there are: then as many as splits ask for.
func (m *metadata) features(asked int) ([]string, error) {
	n := m.NumFeatures
	if n < 1 {
		n = asked
	}
	return names(m.FeatureNames, n, "featureNames", "f")
}

// names returns names if they are given, and otherwise a letter, or none, and numbers.
func names(given []string, n int, key, letter string) ([]string, error) {
	if given != nil && len(given) != n {
		return nil, fmt.Errorf("%d %s for %d in the metadata; take them out of it, or write one for each", len(given), key, n)
	}
	if given != nil {
		return given, nil
	}
	all := make([]string, n)
	for k := range all {
		all[k] = letter + strconv.Itoa(k)
	}
	return all, nil
}
