//go:build nvidia && linux

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
	var status shim.BLASError
	if errors.As(err, &status) && (status == 1 || status == 3) { // how cuBLAS, which did start once, says that it found no memory to start in
		return fmt.Errorf("%w: %w", err, driver.ErrOutOfMemory)
	}
	var code shim.Result
	if !errors.As(err, &code) {
		return err
	}
	switch code {
	case shim.OutOfMemory:
		return fmt.Errorf("%w: %w", err, driver.ErrOutOfMemory)
	case 1, 9, 98, 200, 209, 218, 222, 400, 500, 701: // a value, configuration, image, PTX, handle, name or resource that is not right
		return fmt.Errorf("%w: %w", err, driver.ErrLaunch)
	case shim.NotSupported, 900, 901, 902, 903, 904, 905, 906, 907, 908: // that call, or a stream that cannot be captured as it was asked to
		return fmt.Errorf("%w: %w", err, driver.ErrNotSupported)
	case 4, 46, 100, 101, 201, 214, 219, 220, 226, 700, 702, 708, 709, 710, 713, 714, 715, 716, 717, 718, 719, 999:
		// the driver, the device or the context is gone, or a func did what it must not: after that a context is of no use
		return fmt.Errorf("%w: %w", err, driver.ErrLost)
	}
	return err
}
