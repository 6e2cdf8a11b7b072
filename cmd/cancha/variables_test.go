//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/runtime/session"
)

func TestWrongSettings(t *testing.T) {
	none, file := filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ variable, value, want string }{
		{engineVariable, "bogus", `CANCHA_ENGINE is "bogus": it may be interp, or not set`},
		{engineVariable, engineInterp, ""},
		{memoryVariable, "garbage", `CANCHA_MEMORY: "garbage" is no size: write 8g, 512m or 1.5GiB`},
		{session.FileVariable, none, "CANCHA_CONF names the file of settings, and may be left out: read settings: open " + none},
		{historyVariable, file, "which is no folder"},
		{historyVariable, historyOff, ""},
		{modulesVariable, "example.com/a@v1.0.0, example.com/b", `CANCHA_MODULES has "example.com/b": write PATH@VERSION`},
	} {
		t.Run(test.variable+"="+test.value, func(t *testing.T) {
			t.Setenv(test.variable, test.value)
			err := wrongSettings()
			if test.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			if found := checkVariables(t.Context()); len(found) != 1 || found[0].verdict != failure || !strings.Contains(found[0].found, test.want) {
				t.Errorf("doctor finds %+v", found)
			}
		})
	}
}
