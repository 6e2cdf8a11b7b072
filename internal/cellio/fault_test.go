package cellio

import "testing"

// A fault goes to who waits for it on its goroutine, and to nobody else.
func TestCatchFaults(t *testing.T) {
	if Fault(1, "early") {
		t.Error("nobody waits, and it is taken")
	}
	caught := CatchFaults(1)
	if Fault(2, "of another goroutine") || !Fault(1, "boom") {
		t.Error("it is not taken where it belongs")
	}
	if text := caught(); text != "boom" || Fault(1, "late") {
		t.Errorf("got %q", text)
	}
}
