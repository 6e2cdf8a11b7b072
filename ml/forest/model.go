package forest

import (
	"context"
	"fmt"

	"cancha/ml"
	"cancha/ml/modelfile"
)

// The compiler keeps the promise that forests are models as any other.
var (
	_ ml.Classifier = (*Classifier)(nil)
	_ ml.Regressor  = (*Regressor)(nil)
)

// Predict returns the most probable class of each row, an index into Classes; the first of equals. The dataset is as for PredictProba.
func (f *Classifier) Predict(ctx context.Context, d *ml.Dataset) ([]int, error) {
	p, err := f.PredictProba(ctx, d)
	if err != nil {
		return nil, err
	}
	return ml.MostProbable(p), nil
}

// Score returns the accuracy on rows with labels, by their weights; see [ml.ScoreClassifier].
func (f *Classifier) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	return ml.ScoreClassifier(ctx, f, f.Classes, d)
}

// Score returns R² on rows with targets, by their weights; see [ml.ScoreRegressor].
func (f *Regressor) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	return ml.ScoreRegressor(ctx, f, d)
}

// A forest in a file of its own is of one of these kinds, under a prefix; see file.go for what stands there.
const (
	classifierKind = "forest-classifier"
	regressorKind  = "forest-regressor"
	kindVersion    = 1
	kindPrefix     = "forest"
)

// Save writes the forest to path, whole or not at all; missing folders are made. OpenClassifier reads it.
func (f *Classifier) Save(path string) error { return save(path, classifierKind, f.Store) }

// Save writes the forest to path, whole or not at all; missing folders are made. OpenRegressor reads it.
func (f *Regressor) Save(path string) error { return save(path, regressorKind, f.Store) }

// Encode returns the bytes of the file that Save writes, for who writes them elsewhere.
func (f *Classifier) Encode() ([]byte, error) { return encode(classifierKind, f.Store) }

// Encode returns the bytes of the file that Save writes, for who writes them elsewhere.
func (f *Regressor) Encode() ([]byte, error) { return encode(regressorKind, f.Store) }

// save writes what store stores.
func save(path, kind string, store func(*modelfile.File, string) error) error {
	data, err := encode(kind, store)
	if err != nil {
		return err
	}
	if err := modelfile.Replace(path, data); err != nil {
		return fmt.Errorf("forest: %w", err)
	}
	return nil
}

func encode(kind string, store func(*modelfile.File, string) error) ([]byte, error) {
	file := &modelfile.File{Kind: kind, Version: kindVersion}
	err := store(file, kindPrefix)
	if err != nil {
		return nil, fmt.Errorf("forest: save: %w", err)
	}
	data, err := file.Encode()
	if err != nil {
		return nil, fmt.Errorf("forest: %w", err)
	}
	return data, nil
}

// OpenClassifier reads a forest of classes that its Save wrote. The errors of package modelfile tell a file that is cut short, damaged, of
// another kind or newer than this program; each names the file and says what to do.
func OpenClassifier(path string) (*Classifier, error) {
	file, err := modelfile.Open(path, classifierKind, kindVersion)
	if err != nil {
		return nil, fmt.Errorf("forest: %w", err)
	}
	f, err := LoadClassifier(file, kindPrefix)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", path, err)
	}
	return f, nil
}

// OpenRegressor reads a forest of numbers that its Save wrote; errors are as OpenClassifier's.
func OpenRegressor(path string) (*Regressor, error) {
	file, err := modelfile.Open(path, regressorKind, kindVersion)
	if err != nil {
		return nil, fmt.Errorf("forest: %w", err)
	}
	f, err := LoadRegressor(file, kindPrefix)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", path, err)
	}
	return f, nil
}
