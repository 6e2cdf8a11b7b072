package nn

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
)

var _ ml.Classifier = (*Network)(nil)

// pieceRows is after how many rows a prediction looks whether its context is done: enough for all cores to take part in each piece.
const pieceRows = 256 * blockRows

// PredictProba returns the probabilities of each row, as views into one block of memory. The dataset has the features of the
// training by name and order, and is valid; no value is missing. A row that overflows float32 on its way is an error. It returns
// early with ctx's cause when ctx is done.
func (n *Network) PredictProba(ctx context.Context, d *ml.Dataset) ([][]float64, error) {
	if err := n.fits(d); err != nil {
		return nil, fmt.Errorf("nn: %w", err)
	}
	k := n.shape.out
	all, out := make([]float64, d.Rows()*k), make([][]float64, d.Rows())
	for from := 0; from < len(out); from += pieceRows {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("nn: predict: %w", context.Cause(ctx))
		}
		to := min(from+pieceRows, len(out))
		n.ProbasTo(all[from*k:to*k], d.Slice(from, to).Values)
	}
	for i := range out {
		out[i] = all[i*k : (i+1)*k : (i+1)*k]
		if math.IsNaN(out[i][0]) {
			return nil, fmt.Errorf("nn: row %d overflows float32 on its way through the network; its values are far from those of the training", i)
		}
	}
	return out, nil
}

// fits refuses a dataset that the network cannot answer for.
func (n *Network) fits(d *ml.Dataset) error {
	if err := d.ValidateFor(n.Features); err != nil {
		return err
	}
	return d.Complete()
}

// Predict returns the most probable class of each row, an index into Classes; the first of equals. The dataset is as for PredictProba.
func (n *Network) Predict(ctx context.Context, d *ml.Dataset) ([]int, error) {
	p, err := n.PredictProba(ctx, d)
	if err != nil {
		return nil, err
	}
	return ml.MostProbable(p), nil
}

// Score returns the accuracy on rows with labels, by their weights; see [ml.ScoreClassifier].
func (n *Network) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	return ml.ScoreClassifier(ctx, n, n.Classes, d)
}
