package check

import "testing"

// TestCanEditMethods fails with a release of Go that keeps the methods of a type elsewhere.
func TestCanEditMethods(t *testing.T) {
	if !canEditMethods {
		t.Error("go/types.Named has no field methods of type []*types.Func: types that lose a method are new types")
	}
}
