package linear

import (
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/modelfile"
)

// A regression in a model file, under a prefix of its owner's choice:
//
//	meta  prefix               {"features", "classes" (of a logistic regression)}
//	f64   prefix.intercept     of each class but the last, or one number
//	f64   prefix.coefficient   of each feature, class after class
//
// A file of its own is of one of these kinds, with the prefix "regression".
const (
	logisticKind = "logistic-regression"
	poissonKind  = "poisson-regression"
	fileVersion  = 1
	filePrefix   = "regression"
)

type fileMeta struct {
	Features []string `json:"features"`
	Classes  []string `json:"classes,omitempty"`
}

// Save writes the regression to path, whole or not at all; missing folders are made. OpenLogistic reads it.
func (l *Logistic) Save(path string) error { return save(path, logisticKind, l.Store) }

// Save writes the regression to path, whole or not at all; missing folders are made. OpenPoisson reads it.
func (p *Poisson) Save(path string) error { return save(path, poissonKind, p.Store) }

// save writes what store stores.
func save(path, kind string, store func(*modelfile.File, string) error) error {
	file := &modelfile.File{Kind: kind, Version: fileVersion}
	if err := store(file, filePrefix); err != nil {
		return fmt.Errorf("linear: save: %w", err)
	}
	if err := file.Save(path); err != nil {
		return fmt.Errorf("linear: %w", err)
	}
	return nil
}

// OpenLogistic reads a regression that its Save wrote. The errors of package modelfile tell a file that is cut short, damaged, of another
// kind or newer than this program; each names the file and says what to do.
func OpenLogistic(path string) (*Logistic, error) {
	return open(path, logisticKind, LoadLogistic)
}

// OpenPoisson reads a regression that its Save wrote; errors are as OpenLogistic's.
func OpenPoisson(path string) (*Poisson, error) {
	return open(path, poissonKind, LoadPoisson)
}

func open[R any](path, kind string, load func(*modelfile.File, string) (*R, error)) (*R, error) {
	file, err := modelfile.Open(path, kind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("linear: %w", err)
	}
	r, err := load(file, filePrefix)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", path, err)
	}
	return r, nil
}

// Store writes the regression into a model file under a prefix.
func (l *Logistic) Store(file *modelfile.File, prefix string) error {
	var all []float64
	for _, c := range l.Coefficient {
		all = append(all, c...)
	}
	file.SetFloat64(prefix+".intercept", l.Intercept)
	file.SetFloat64(prefix+".coefficient", all)
	return file.SetMeta(prefix, fileMeta{Features: l.Features, Classes: l.Classes})
}

// Store writes the regression into a model file under a prefix.
func (p *Poisson) Store(file *modelfile.File, prefix string) error {
	file.SetFloat64(prefix+".intercept", []float64{p.Intercept})
	file.SetFloat64(prefix+".coefficient", p.Coefficient)
	return file.SetMeta(prefix, fileMeta{Features: p.Features})
}

// LoadLogistic reads a regression that Store wrote under a prefix.
func LoadLogistic(file *modelfile.File, prefix string) (*Logistic, error) {
	meta, intercept, coefficient, err := load(file, prefix)
	if err != nil {
		return nil, err
	}
	free, p := len(meta.Classes)-1, len(meta.Features)
	if free < 1 || len(intercept) != free || len(coefficient) != free*p {
		return nil, fmt.Errorf("linear: %q has %d intercepts and %d coefficients for %d features and %d classes: %w",
			prefix, len(intercept), len(coefficient), p, len(meta.Classes), modelfile.ErrDamaged)
	}
	l := &Logistic{Features: meta.Features, Classes: meta.Classes, Intercept: intercept}
	for k := range free {
		l.Coefficient = append(l.Coefficient, coefficient[k*p:(k+1)*p:(k+1)*p])
	}
	return l, nil
}

// LoadPoisson reads a regression that Store wrote under a prefix.
func LoadPoisson(file *modelfile.File, prefix string) (*Poisson, error) {
	meta, intercept, coefficient, err := load(file, prefix)
	if err != nil {
		return nil, err
	}
	if meta.Classes != nil {
		return nil, fmt.Errorf("linear: %q answers with classes, not with a count: %w", prefix, modelfile.ErrKind)
	}
	if len(intercept) != 1 || len(coefficient) != len(meta.Features) {
		return nil, fmt.Errorf("linear: %q has %d intercepts and %d coefficients for %d features: %w",
			prefix, len(intercept), len(coefficient), len(meta.Features), modelfile.ErrDamaged)
	}
	return &Poisson{Features: meta.Features, Intercept: intercept[0], Coefficient: coefficient}, nil
}

// load reads what both regressions have, and checks that names are distinct and numbers finite: with a NaN every answer would be one.
func load(file *modelfile.File, prefix string) (meta fileMeta, intercept, coefficient []float64, err error) {
	if err := file.Meta(prefix, &meta); err != nil {
		return meta, nil, nil, fmt.Errorf("linear: %w", err)
	}
	if err := (&ml.Dataset{Features: meta.Features, Classes: meta.Classes}).Validate(); err != nil {
		return meta, nil, nil, fmt.Errorf("linear: %q (%v): %w", prefix, err, modelfile.ErrDamaged)
	}
	for _, a := range []struct {
		name string
		to   *[]float64
	}{{".intercept", &intercept}, {".coefficient", &coefficient}} {
		if *a.to, err = file.Float64(prefix + a.name); err != nil {
			return meta, nil, nil, fmt.Errorf("linear: %w", err)
		}
		for i, v := range *a.to {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return meta, nil, nil, fmt.Errorf("linear: number %d of %q is %v: %w", i, prefix+a.name, v, modelfile.ErrDamaged)
			}
		}
	}
	return meta, intercept, coefficient, nil
}
