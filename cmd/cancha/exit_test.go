//go:build !windows

package main

import (
	"errors"
	"fmt"
	"testing"
)

// os.Exit(0) is no failure, unless something else has failed beside it.
func TestUnlessZero(t *testing.T) {
	status := func(code int) error { return &failedQuery{"q", &code} }
	other := errors.New("a sink has failed")
	for _, c := range []struct {
		name   string
		err    error
		failed bool
	}{
		{"nothing", nil, false},
		{"0", status(0), false},
		{"0, wrapped", fmt.Errorf("so: %w", status(0)), false},
		{"0 twice", errors.Join(status(0), errors.Join(status(0))), false},
		{"3", status(3), true},
		{"0 and 3", errors.Join(status(0), status(3)), true},
		{"0 and another failure", errors.Join(status(0), other), true},
		{"0, and a query that has failed", errors.Join(status(0), &failedQuery{"q", nil}), true},
		{"another failure", other, true},
	} {
		if got := unlessZero(c.err) != nil; got != c.failed {
			t.Errorf("%s: failed %v, want %v", c.name, got, c.failed)
		}
	}
}
