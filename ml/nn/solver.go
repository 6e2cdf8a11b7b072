package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"cancha/internal/blas"
	"cancha/runtime/gpu"
)

// solver takes the steps of Adam for a graph of gorgonia in one pass over the parameters, where gorgonia's own takes a pass for each
// term of the formula.
type solver struct {
	adam  gpu.Adam
	blas  *blas.BLAS
	steps int
	m, v  [][]float32 // moments of each parameter
}

// Step changes the parameters, which are the same ones, in the same order, each time, and sets their gradients to 0.
func (s *solver) Step(model []gorgonia.ValueGrad) error {
	s.steps++
	first, second := s.adam.Corrections(s.steps)
	settings := blas.Adam{
		Rate: s.adam.Rate, Beta1: s.adam.Beta1, Beta2: s.adam.Beta2, Epsilon: s.adam.Epsilon, Correction1: first, Correction2: second,
	}
	for i, p := range model {
		grad, err := p.Grad()
		if err != nil {
			return fmt.Errorf("gradient of parameter %d: %w", i, err)
		}
		weight, ok := p.Value().Data().([]float32)
		gradient, also := grad.Data().([]float32)
		if !ok || !also || len(gradient) != len(weight) {
			return fmt.Errorf("parameter %d is a %T with a gradient of %T", i, p.Value().Data(), grad.Data())
		}
		if i == len(s.m) {
			s.m, s.v = append(s.m, make([]float32, len(weight))), append(s.v, make([]float32, len(weight)))
		}
		s.blas.Adam(settings, weight, gradient, s.m[i], s.v[i])
		clear(gradient)
	}
	return nil
}
