package primitive

// Min is the predeclared min of floating-point numbers.
func (m *Machine) Min(x float64, more ...float64) float64 {
	for _, v := range more {
		x = min(x, v)
	}
	return x
}

// Max is the predeclared max of floating-point numbers.
func (m *Machine) Max(x float64, more ...float64) float64 {
	for _, v := range more {
		x = max(x, v)
	}
	return x
}
