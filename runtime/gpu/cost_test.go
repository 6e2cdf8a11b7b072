package gpu

import (
	"testing"
	"time"

	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/host"
)

func TestPredict(t *testing.T) {
	v := speed{fixed: time.Millisecond, bandwidth: 1e9, flops: 1e9, copying: 1e8}
	for _, c := range []struct {
		name   string
		work   work
		copied int64
		want   time.Duration
	}{
		{"nothing", work{launches: 2}, 0, 2 * time.Millisecond},
		{"memory", work{bytes: 1e9, flops: 1e6, launches: 1}, 0, 1001 * time.Millisecond},
		{"arithmetic", work{bytes: 1e6, flops: 2e9, launches: 1}, 0, 2001 * time.Millisecond},
		{"copies", work{launches: 1}, 1e8, 1001 * time.Millisecond},
	} {
		if got := v.predict(c.work, c.copied); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMissing: what is read twice is copied once, and both ways at the speed of the GPU.
func TestMissing(t *testing.T) {
	s := newSession(t, Config{Device: GPU})
	a := buffer(t, s, 1, 2, 3)
	o := operation{reads: []*store{a.store, a.store}}
	if cpu, gpu := o.missing(onCPU), o.missing(onGPU); cpu != 0 || gpu != 12 {
		t.Errorf("got %d and %d bytes, want 0 and 12", cpu, gpu)
	}
	if err := VectorAdd(t.Context(), a, a, a); err != nil {
		t.Fatal(err)
	}
	if cpu, gpu := o.missing(onCPU), o.missing(onGPU); cpu != 12 || gpu != 0 {
		t.Errorf("got %d and %d bytes, want 12 and 0", cpu, gpu)
	}
	if cpu, gpu := s.places[onCPU].speed.copying, s.places[onGPU].speed.copying; cpu != gpu {
		t.Errorf("copies back at %v bytes/s, and there at %v", cpu, gpu)
	}
}

// TestCalibrate: what is measured is what a processor can do.
func TestCalibrate(t *testing.T) {
	d, err := host.Driver{}.Open(t.Context(), 0, driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	v, err := calibrate(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if v.fixed <= 0 || v.fixed > 10*time.Millisecond || v.bandwidth < 1e7 || v.bandwidth > 1e13 || v.flops < 1e7 || v.flops > 1e15 || v.copying < 1e7 {
		t.Errorf("got %+v", v)
	}
}
