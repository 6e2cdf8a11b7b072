package primitive

import "testing"

// TestInterprets: operations that both kinds of cells use count for the one that called them.
func TestInterprets(t *testing.T) {
	const print, receive = "cancha/kernel/eval/primitive.(*Machine).Sprintf", "cancha/kernel/eval/native/support.Recv2[...]"
	const yaegi, reflected = "github.com/traefik/yaegi/interp.runCfg", "reflect.Value.call"
	tests := []struct {
		name      string
		functions []string
		want      bool
	}{
		{"a statement", []string{yaegi, "cancha/kernel/eval.(*Program).supervise"}, true},
		{"a statement that prints", []string{"runtime.mallocgc", print, reflected, yaegi}, true},
		{"a compiled function that a statement has called", []string{"cells/0123456789abcdef.train", reflected, yaegi}, false},
		{"one that prints", []string{print, "cells/0123456789abcdef.train", reflected, yaegi}, false},
		{"one that receives", []string{"runtime.chanrecv", receive, "cells/0123456789abcdef.train", reflected, yaegi}, false},
		{"a library", []string{"crypto/sha256.block", reflected, yaegi}, false},
	}
	for _, tt := range tests {
		if got := interprets(tt.functions); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
