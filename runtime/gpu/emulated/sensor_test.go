//go:build nvidia && linux

package emulated_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
)

// TestSensors: what NVIDIA's management library tells arrives in its units; what it does not is NaN, and what fails is named.
func TestSensors(t *testing.T) {
	d := open(t, driver.Options{}).(driver.Sensor)
	r, err := d.Read()
	if err != nil || r.Utilization != .5 || r.Power != 70 || r.Temperature != 40 || math.IsNaN(r.Memory) {
		t.Errorf("got %+v, %v", r, err)
	}
	t.Setenv(faultVariable, "power=3") // not supported
	if r, err := d.Read(); err != nil || !math.IsNaN(r.Power) || r.Temperature != 40 {
		t.Errorf("without power: got %+v, %v", r, err)
	}
	t.Setenv(faultVariable, "temperature=15") // the GPU is lost
	if _, err := d.Read(); err == nil || !strings.Contains(err.Error(), "temperature") {
		t.Errorf("got %v, want an error that names the temperature", err)
	}
}

// TestUsers: whoever computes on a GPU is listed with it.
func TestUsers(t *testing.T) {
	all, err := cuda.Driver{}.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	users := all[0].Users
	if len(users) != 1 || users[0].PID != os.Getpid() || users[0].Program == "" {
		t.Errorf("got %+v, want this process", users)
	}
}
