//go:build !windows

package main

import "testing"

func TestHistoryFolder(t *testing.T) {
	for _, c := range []struct{ name, variable, state, home, want string }{
		{"off", "off", "/state", "/home/u", ""},
		{"named", "/elsewhere", "/state", "/home/u", "/elsewhere"},
		{"state", "", "/state", "/home/u", "/state/cancha/history"},
		{"relative state", "", "state", "/home/u", "/home/u/.local/state/cancha/history"},
		{"home", "", "", "/home/u", "/home/u/.local/state/cancha/history"},
		{"no home", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(historyVariable, c.variable)
			t.Setenv("XDG_STATE_HOME", c.state)
			t.Setenv("HOME", c.home)
			if got := historyFolder(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
