package support

// Failure is the panic of check and must. What recover returns to a cell is the error itself.
type Failure struct{ Err error }

func (f Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error, for what recovers the panic in a library.
func (f Failure) Unwrap() error { return f.Err }

// Check is check in a cell.
func Check(err error) {
	if err != nil {
		panic(Failure{err})
	}
}

// Must0 is must in a cell, for a call that returns only an error. Must1 and the others are for calls that return that many values before
// the error.
func Must0(err error) { Check(err) }

// Must1 is must.
func Must1[T0 any](v0 T0, err error) T0 {
	Check(err)
	return v0
}

// Must2 is must.
func Must2[T0, T1 any](v0 T0, v1 T1, err error) (T0, T1) {
	Check(err)
	return v0, v1
}

// Must3 is must.
func Must3[T0, T1, T2 any](v0 T0, v1 T1, v2 T2, err error) (T0, T1, T2) {
	Check(err)
	return v0, v1, v2
}

// Must4 is must.
func Must4[T0, T1, T2, T3 any](v0 T0, v1 T1, v2 T2, v3 T3, err error) (T0, T1, T2, T3) {
	Check(err)
	return v0, v1, v2, v3
}

// Must5 is must.
func Must5[T0, T1, T2, T3, T4 any](v0 T0, v1 T1, v2 T2, v3 T3, v4 T4, err error) (T0, T1, T2, T3, T4) {
	Check(err)
	return v0, v1, v2, v3, v4
}

// Must6 is must.
func Must6[T0, T1, T2, T3, T4, T5 any](v0 T0, v1 T1, v2 T2, v3 T3, v4 T4, v5 T5, err error) (T0, T1, T2, T3, T4, T5) {
	Check(err)
	return v0, v1, v2, v3, v4, v5
}

// Must7 is must.
func Must7[T0, T1, T2, T3, T4, T5, T6 any](v0 T0, v1 T1, v2 T2, v3 T3, v4 T4, v5 T5, v6 T6, err error) (T0, T1, T2, T3, T4, T5, T6) {
	Check(err)
	return v0, v1, v2, v3, v4, v5, v6
}

// Must8 is must.
func Must8[T0, T1, T2, T3, T4, T5, T6, T7 any](v0 T0, v1 T1, v2 T2, v3 T3, v4 T4, v5 T5, v6 T6, v7 T7, err error) (T0, T1, T2, T3, T4, T5, T6, T7) {
	Check(err)
	return v0, v1, v2, v3, v4, v5, v6, v7
}
