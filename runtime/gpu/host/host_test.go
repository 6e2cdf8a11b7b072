package host_test

import (
	"errors"
	"testing"

	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/gputest"
	"cancha/runtime/gpu/host"
)

func TestDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, cores := range map[string]int{"one core": 1, "three cores": 3} {
		t.Run(name, func(t *testing.T) {
			gputest.TestDevice(t, func(t *testing.T) driver.Device { return open(t, driver.Options{Cores: cores}) })
		})
	}
}

func open(t *testing.T, o driver.Options) driver.Device {
	t.Helper()
	d, err := host.Driver{}.Open(t.Context(), 0, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOtherDevices(t *testing.T) {
	if _, err := (host.Driver{}).Open(t.Context(), 1, driver.Options{}); !errors.Is(err, driver.ErrNoDevice) {
		t.Errorf("a second CPU: got %v", err)
	}
	a, b := open(t, driver.Options{}), open(t, driver.Options{})
	m, err := a.Alloc(driver.Float32, 1)
	if err != nil {
		t.Fatal(err)
	}
	q, err := b.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.CopyIn(m, 0, []float32{1}); err == nil {
		t.Error("memory of another device was taken")
	}
}

// TestShortMemory: sizes that memory does not have are an error of that launch only.
func TestShortMemory(t *testing.T) {
	d := open(t, driver.Options{})
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Alloc(driver.Float32, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []driver.Launch{
		{Func: "fill", Args: []driver.Arg{driver.At(m, 0), driver.Float(1), driver.Int(100)}},
		{Func: "bias", Args: []driver.Arg{driver.At(m, 0), driver.At(m, 0), driver.Int(100000), driver.Int(10)}},
		{Func: "sgemm", Args: []driver.Arg{
			driver.Int(0), driver.Int(0), driver.Int(4), driver.Int(4), driver.Int(4), driver.Float(1), driver.At(m, 0), driver.At(m, 0), driver.Float(0), driver.At(m, 0),
		}},
	} {
		if err := q.Launch(l); !errors.Is(err, driver.ErrLaunch) {
			t.Errorf("%s: got %v", l.Func, err)
		}
	}
	if err := q.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{driver.At(m, 0), driver.Float(1), driver.Int(10)}}); err != nil {
		t.Error(err)
	}
}
