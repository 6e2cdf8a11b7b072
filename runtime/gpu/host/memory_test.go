package host

import (
	"errors"
	"math"
	"testing"

	"cancha/runtime/gpu/driver"
)

// TestMemoryOfTheCollector: what the collector keeps is given back before memory is refused, and sizes beyond all are refused.
func TestMemoryOfTheCollector(t *testing.T) {
	opened, err := Driver{}.Open(t.Context(), 0, driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*Device)
	asked := 0
	d.meminfo = func(string) (int64, error) {
		asked++
		return int64(asked-1) * 1000, nil
	}
	if _, err := d.Alloc(driver.Float32, 100); err != nil || asked != 2 {
		t.Errorf("got %v, asked %d times", err, asked)
	}
	asked = 0
	if _, err := d.Alloc(driver.Float32, 1000); !errors.Is(err, driver.ErrOutOfMemory) || asked != 2 {
		t.Errorf("too much: got %v, asked %d times", err, asked)
	}
	for _, n := range []int{1 << 62, math.MaxInt} {
		if _, err := d.Alloc(driver.Float32, n); !errors.Is(err, driver.ErrOutOfMemory) {
			t.Errorf("%d elements: got %v", n, err)
		}
	}
}
