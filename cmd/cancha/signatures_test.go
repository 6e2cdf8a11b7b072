//go:build !windows

package main

import (
	"testing"

	"cancha/kernel/wire"
)

func TestOpenToAll(t *testing.T) {
	for _, c := range []struct {
		name string
		c    wire.Connection
		want bool
	}{
		{"neither", wire.Connection{}, true},
		{"signed", wire.Connection{Key: "k"}, false},
		{"encrypted", wire.Connection{CurveKeys: wire.NewCurveKeys()}, false},
		{"both", wire.Connection{Key: "k", CurveKeys: wire.NewCurveKeys()}, false},
	} {
		if got := openToAll(c.c); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
