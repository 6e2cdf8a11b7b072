package linear

import (
	"context"
	"fmt"

	"cancha/ml"
)

// The compiler keeps the promise that regressions are models as any other.
var (
	_ ml.Classifier = (*Logistic)(nil)
	_ ml.Regressor  = (*Poisson)(nil)
)

// pieceRows is after how many rows a prediction looks whether its context is done: about a millisecond.
const pieceRows = 4096

// each calls rounded with every row of a dataset of these features, or exact with all digits of it where the dataset has them.
func each(ctx context.Context, d *ml.Dataset, features []string, rounded func(i int, row []float32), exact func(i int, row []float64)) error {
	err := d.ValidateFor(features)
	if err == nil {
		err = d.Complete()
	}
	if err != nil {
		return fmt.Errorf("linear: %w", err)
	}
	p := len(features)
	for i := range d.Rows() {
		if i%pieceRows == 0 && ctx.Err() != nil {
			return fmt.Errorf("linear: predict: %w", context.Cause(ctx))
		}
		if d.Exact != nil {
			exact(i, d.Exact[i*p:(i+1)*p])
		} else {
			rounded(i, d.Row(i))
		}
	}
	return nil
}
