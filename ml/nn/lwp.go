package nn

import (
	"context"

	"cancha/ml"
	"cancha/ml/lwp"
	"cancha/ml/modelfile"
)

// lwpKind is what a win-probability model of ours is called in its file.
const lwpKind = "network"

// FitLWP trains a network on the outcomes of matches, as [Fit] does, in the place of a forest: the model answers minute by minute, live
// and in [lwp.Evaluate] as a forest's does. Its columns are of different units and are always standardized. Name is for tables; "" is
// "network, outcome".
func FitLWP(ctx context.Context, train *lwp.Matches, name string, c Config) (*lwp.Model, error) {
	c.Standardize = true
	return lwp.FitClassifier(ctx, train, name, lwpKind, func(ctx context.Context, d *ml.Dataset) (lwp.Classifier, error) { return Fit(ctx, d, c) })
}

// OpenLWP reads a model that FitLWP trained and its Save wrote, as [lwp.Open] reads a forest's.
func OpenLWP(path string) (*lwp.Model, error) {
	return lwp.OpenClassifier(path, lwpKind, func(file *modelfile.File, prefix string) (lwp.Classifier, error) { return Load(file, prefix) })
}
