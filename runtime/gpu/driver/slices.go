package driver

import "fmt"

// SliceType is the type of a slice's elements and their number. A slice that memory cannot hold is an error.
func SliceType(slice any) (t Type, n int, err error) {
	switch s := slice.(type) {
	case []float32:
		return Float32, len(s), nil
	case []float64:
		return Float64, len(s), nil
	case []int32:
		return Int32, len(s), nil
	case []uint8:
		return Uint8, len(s), nil
	}
	return 0, 0, fmt.Errorf("%T is no slice of float32, float64, int32 or uint8", slice)
}

// CheckRange refuses n elements of a type from offset on that m does not have.
func CheckRange(m Memory, t Type, offset, n int) error {
	switch {
	case m.Type() != t:
		return fmt.Errorf("memory of %s, not %s", m.Type(), t)
	case offset < 0 || n > m.Len()-offset:
		return fmt.Errorf("elements %d to %d of memory that has %d", offset, offset+n, m.Len())
	}
	return nil
}
