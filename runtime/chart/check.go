package chart

import (
	"errors"
	"fmt"
	"math"
)

// finite refuses an empty slice and the first value that is no number.
func finite(name string, values []float64) error {
	if len(values) == 0 {
		return fmt.Errorf("%s is empty", name)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s[%d] is %v: leave out or replace what is no number", name, i, v)
		}
	}
	return nil
}

// shares refuses what finite refuses and values outside 0 to 1.
func shares(name string, values []float64) error {
	if err := finite(name, values); err != nil {
		return err
	}
	for i, v := range values {
		if v < 0 || v > 1 {
			return fmt.Errorf("%s[%d] is %v: a probability goes from 0 to 1", name, i, v)
		}
	}
	return nil
}

func sameLength(a string, na int, b string, nb int) error {
	if na != nb {
		return fmt.Errorf("%s has %d values and %s has %d: they must be as many", a, na, b, nb)
	}
	return nil
}

// ascending refuses values that step back.
func ascending(name string, values []float64) error {
	for i := 1; i < len(values); i++ {
		if values[i] < values[i-1] {
			return fmt.Errorf("%s[%d] is %v after %v: sort by it first", name, i, values[i], values[i-1])
		}
	}
	return nil
}

// refuse gives the first of the errors with the constructor's name before it.
func refuse(where string, errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

var errNoSeries = errors.New("there is no series to draw")
