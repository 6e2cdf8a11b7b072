package lwp

import (
	"fmt"

	"cancha/ml/linear"
	"cancha/ml/modelfile"
)

// regression answers by the Poisson regression of [FitRatedPoisson] or [FitPoisson]: a baseline as a model that can be saved.
type regression struct{ rates }

func fitRegression(train *Matches, f formula) (regression, error) {
	p, err := fitPoisson(train, f, 1)
	if err != nil {
		return regression{}, err
	}
	return regression{p.rates}, nil
}

// regressionMeta is what a file's header says of a regression; its coefficients are the array "poisson.coefficient".
type regressionMeta struct {
	Features  []string `json:"features"`
	Intercept float64  `json:"intercept"`
}

func (r regression) store(f *modelfile.File) error {
	f.SetFloat64("poisson.coefficient", r.fit.Coefficient)
	return f.SetMeta("regression", regressionMeta{Features: r.fit.Features, Intercept: r.fit.Intercept})
}

// loadRegression reads what store wrote of a regression that looks at of.
func loadRegression(f *modelfile.File, of formula) (regression, error) {
	var meta regressionMeta
	if err := f.Meta("regression", &meta); err != nil {
		return regression{}, err
	}
	if err := sameColumns(meta.Features, of.columns); err != nil {
		return regression{}, err
	}
	values, err := f.Float64("poisson.coefficient")
	if err != nil {
		return regression{}, err
	}
	if len(values) != len(meta.Features) || !within(mostCoefficient, values...) || !within(mostCoefficient, meta.Intercept) {
		return regression{}, fmt.Errorf("%d coefficients of a regression of %d columns, or values out of range: %w", len(values), len(meta.Features), modelfile.ErrDamaged)
	}
	return regression{rates{&linear.Poisson{Features: meta.Features, Intercept: meta.Intercept, Coefficient: values}, of}}, nil
}
