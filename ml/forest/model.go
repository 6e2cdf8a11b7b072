package forest

import (
	"context"
	"fmt"

	"cancha/ml"
)

// pieceRows is after how many rows a prediction looks whether its context is done: enough for all cores to take part in each piece.
const pieceRows = 1 << 15

// answers returns the sums of the trees' answers for all rows of a dataset, piece by piece; with ctx's cause when ctx is done before.
func (e *ensemble) answers(ctx context.Context, d *ml.Dataset, features []string, outputs int) ([]float64, error) {
	if err := d.ValidateFor(features); err != nil { // of the whole, so that an error names the row as the caller counts
		return nil, fmt.Errorf("forest: %w", err)
	}
	sums := make([]float64, 0, d.Rows()*outputs)
	for from := 0; from < d.Rows(); from += pieceRows {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("forest: predict: %w", context.Cause(ctx))
		}
		piece, err := e.batch(d.Slice(from, min(from+pieceRows, d.Rows())), features, outputs)
		if err != nil {
			return nil, err
		}
		sums = append(sums, piece...)
	}
	return sums, nil
}
