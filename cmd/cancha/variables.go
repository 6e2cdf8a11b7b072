//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"cancha/runtime/session"
)

// wrongSettings tells all that is wrong with the settings that an engine starts with, in the environment and in the file of settings: with
// each where it was read, and what it may be.
func wrongSettings() error {
	_, err := session.Environment()
	_, modules := wantedModules()
	return errors.Join(checkEngineVariable(), modules, checkHistoryVariable(), err)
}

func checkEngineVariable() error {
	if v := os.Getenv(engineVariable); v != "" && v != engineInterp {
		return fmt.Errorf("%s is %q: it may be %s, or not set", engineVariable, v, engineInterp)
	}
	return nil
}

func checkHistoryVariable() error {
	folder := os.Getenv(historyVariable)
	if info, err := os.Stat(folder); folder != historyOff && err == nil && !info.IsDir() {
		return fmt.Errorf("%s is %q, which is no folder: it may be a folder, %s, or not set", historyVariable, folder, historyOff)
	}
	return nil
}

// checkVariables is wrongSettings for doctor, a line for each fault.
func checkVariables(context.Context) (found []finding) {
	err := wrongSettings()
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		found = append(found, finding{failure, "settings", strings.TrimSpace(line), "correct it: no cell runs with it"})
	}
	return found
}
