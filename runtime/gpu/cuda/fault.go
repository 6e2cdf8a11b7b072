//go:build nvidia

package cuda

import (
	"errors"
	"fmt"
	"reflect"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// told is an error of a driver call as the driver words it. cu's errors are numbers of a type that it keeps to itself.
func told(err error) error {
	if v := reflect.ValueOf(err); err != nil && v.Kind() == reflect.Int {
		return shim.Result(v.Int())
	}
	return err
}

// fault is an error of a driver call, wrapped in what the seam calls it.
func fault(err error) error {
	err = told(err)
	var code shim.Result
	if !errors.As(err, &code) {
		return err
	}
	switch code {
	case shim.OutOfMemory:
		return fmt.Errorf("%w: %w", err, driver.ErrOutOfMemory)
	case 1, 9, 98, 200, 209, 218, 222, 400, 500, 701: // a value, configuration, image, PTX, handle, name or resource that is not right
		return fmt.Errorf("%w: %w", err, driver.ErrLaunch)
	case shim.NotSupported, 600, 900, 901, 902, 903, 904, 905, 906, 907, 908: // not ready; what a capture does not take
		return err
	}
	return fmt.Errorf("%w: %w", err, driver.ErrLost) // after any other, a context is of no use
}
