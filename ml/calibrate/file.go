package calibrate

import (
	"fmt"
	"math"
	"slices"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/linear"
	"cancha/ml/modelfile"
)

// A calibrated classifier in a model file:
//
//	meta   calibrated          {"features", "classes", "method", "kind" of the models, "models": their number}
//	int32  calibrated.points   of each curve, model after model
//	f64    calibrated.x        of each point, curve after curve
//	f64    calibrated.y        of each point
//	…      model.0, model.1 …  what the models store under these prefixes
const (
	fileKind    = "calibrated-classifier"
	fileVersion = 1
	filePrefix  = "calibrated"
	modelPrefix = "model."
)

// Kinds of models that Open knows how to load.
const (
	forestKind   = "forest"
	logisticKind = "logistic"
	otherKind    = "other"
)

type fileMeta struct {
	Features []string `json:"features"`
	Classes  []string `json:"classes"`
	Method   Method   `json:"method"`
	Kind     string   `json:"kind"`
	Models   int      `json:"models"`
}

// Load reads a model that its Store wrote under a prefix, as [forest.LoadClassifier] does.
type Load func(file *modelfile.File, prefix string) (ml.Classifier, error)

// storer is what a model has to be that can be saved.
type storer interface {
	Store(file *modelfile.File, prefix string) error
}

// Save writes the classifier to path with its models, whole or not at all; missing folders are made. Open reads it. Models that have no method Store, as
// all of this house have, are an error.
func (f *Classifier) Save(path string) error {
	file := &modelfile.File{Kind: fileKind, Version: fileVersion}
	meta := fileMeta{Features: f.Features, Classes: f.Classes, Method: f.Method, Models: len(f.parts)}
	var points []int32
	var x, y []float64
	for i, each := range f.parts {
		s, ok := each.model.(storer)
		if !ok {
			return fmt.Errorf("calibrate: save: a %T has no method Store(*modelfile.File, string) error", each.model)
		}
		if err := s.Store(file, fmt.Sprint(modelPrefix, i)); err != nil {
			return fmt.Errorf("calibrate: save: %w", err)
		}
		if kind := kindOf(each.model); i > 0 && kind != meta.Kind {
			meta.Kind = otherKind
		} else {
			meta.Kind = kind
		}
		for _, c := range each.curves {
			points, x, y = append(points, int32(len(c.x))), append(x, c.x...), append(y, c.y...)
		}
	}
	file.SetInt32(filePrefix+".points", points)
	file.SetFloat64(filePrefix+".x", x)
	file.SetFloat64(filePrefix+".y", y)
	if err := file.SetMeta(filePrefix, meta); err != nil {
		return fmt.Errorf("calibrate: save: %w", err)
	}
	if err := file.Save(path); err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	return nil
}

func kindOf(m ml.Classifier) string {
	switch m.(type) {
	case *forest.Classifier:
		return forestKind
	case *linear.Logistic:
		return logisticKind
	}
	return otherKind
}

// Open reads a classifier whose models are forests or logistic regressions. The errors of package modelfile tell a file that is cut short, damaged,
// of another kind or newer than this program; each names the file and says what to do.
func Open(path string) (*Classifier, error) { return OpenWith(path, nil) }

// OpenWith reads a classifier whose models are of another kind, with what loads them.
func OpenWith(path string, load Load) (*Classifier, error) {
	file, err := modelfile.Open(path, fileKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	f, err := read(file, load)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", path, err)
	}
	return f, nil
}

// read takes a classifier out of a file.
func read(file *modelfile.File, load Load) (*Classifier, error) {
	var meta fileMeta
	if err := file.Meta(filePrefix, &meta); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	if err := meta.check(); err != nil {
		return nil, fmt.Errorf("calibrate: %w: %w", err, modelfile.ErrDamaged)
	}
	if load == nil {
		if load = loaders(meta)[meta.Kind]; load == nil {
			return nil, fmt.Errorf("calibrate: the models are neither forests nor logistic regressions; take OpenWith: %w", modelfile.ErrKind)
		}
	}
	curves, err := readCurves(file, meta.Method)
	if err != nil {
		return nil, err
	}
	f := &Classifier{Features: meta.Features, Classes: meta.Classes, Method: meta.Method}
	each := len(f.mapped())
	if meta.Method == Temperature {
		each = 1
	}
	if meta.Models > len(curves) || len(curves) != meta.Models*each {
		return nil, fmt.Errorf("calibrate: %d curves for %d models of %d each: %w", len(curves), meta.Models, each, modelfile.ErrDamaged)
	}
	for i := range meta.Models {
		m, err := load(file, fmt.Sprint(modelPrefix, i))
		if err != nil {
			return nil, fmt.Errorf("calibrate: model %d: %w", i, err)
		}
		f.parts = append(f.parts, part{m, curves[i*each : (i+1)*each]})
	}
	return f, nil
}

// check refuses what can be no classifier.
func (m fileMeta) check() error {
	if err := (&ml.Dataset{Features: m.Features, Classes: m.Classes}).Validate(); err != nil {
		return err
	}
	if !m.Method.known() || len(m.Classes) < 2 || len(m.Features) == 0 || m.Models < 1 {
		return fmt.Errorf("%d models of %d features and %d classes, calibrated by %q", m.Models, len(m.Features), len(m.Classes), m.Method)
	}
	return nil
}

// loaders are those of the models that Open knows; each checks that the model has the columns and classes of the classifier.
func loaders(meta fileMeta) map[string]Load {
	fits := func(features, classes []string) error {
		if slices.Equal(features, meta.Features) && slices.Equal(classes, meta.Classes) {
			return nil
		}
		return fmt.Errorf("a model of features %q and classes %q in one of %q and %q: %w", features, classes, meta.Features, meta.Classes, modelfile.ErrDamaged)
	}
	return map[string]Load{
		forestKind: func(file *modelfile.File, prefix string) (ml.Classifier, error) {
			m, err := forest.LoadClassifier(file, prefix)
			if err != nil {
				return nil, err
			}
			return m, fits(m.Features, m.Classes)
		},
		logisticKind: func(file *modelfile.File, prefix string) (ml.Classifier, error) {
			m, err := linear.LoadLogistic(file, prefix)
			if err != nil {
				return nil, err
			}
			return m, fits(m.Features, m.Classes)
		},
	}
}

// readCurves reads the curves of all models, and checks that their answers are probabilities.
func readCurves(file *modelfile.File, method Method) ([]curve, error) {
	points, err := file.Int32(filePrefix + ".points")
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	x, err := file.Float64(filePrefix + ".x")
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	y, err := file.Float64(filePrefix + ".y")
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	curves := make([]curve, len(points))
	for i, n := range points {
		if n < 1 || int(n) > len(x) || int(n) > len(y) {
			return nil, fmt.Errorf("calibrate: curve %d of %d points, of which %d and %d are there: %w", i, n, len(x), len(y), modelfile.ErrDamaged)
		}
		curves[i] = curve{x[:n:n], y[:n:n]}
		x, y = x[n:], y[n:]
		if err := curves[i].check(method); err != nil {
			return nil, fmt.Errorf("calibrate: curve %d: %w: %w", i, err, modelfile.ErrDamaged)
		}
	}
	if len(x) > 0 || len(y) > 0 {
		return nil, fmt.Errorf("calibrate: points of no curve: %w", modelfile.ErrDamaged)
	}
	return curves, nil
}

// rounding is by how much two divisions may seem to fall that do not.
const rounding = 1e-12

// check refuses a curve that no fit makes.
func (c curve) check(method Method) error {
	for i := range c.x {
		if math.IsNaN(c.x[i]) || math.IsInf(c.x[i], 0) || math.IsNaN(c.y[i]) || math.IsInf(c.y[i], 0) {
			return fmt.Errorf("its point %d is %v, %v", i, c.x[i], c.y[i])
		}
		if method != Isotonic {
			continue
		}
		if c.y[i] < 0 || c.y[i] > 1 || i > 0 && (c.x[i] <= c.x[i-1] || c.y[i] < c.y[i-1]-rounding) {
			return fmt.Errorf("it falls, or leaves 0 to 1, at point %d, %v, %v", i, c.x[i], c.y[i])
		}
	}
	if method != Isotonic && len(c.x) != 1 || method == Temperature && !(c.x[0] > 0) {
		return fmt.Errorf("%d points from %v are no %s", len(c.x), c.x[0], method)
	}
	return nil
}
