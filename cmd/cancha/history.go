//go:build !windows

package main

import (
	"os"
	"path/filepath"
)

// historyVariable says where kernels keep the history of cells: a folder, or historyOff.
const (
	historyVariable = "CANCHA_HISTORY"
	historyOff      = "off"
)

// historyFolder is where the history of all sessions is kept: cancha/history in the user's folder for state, unless
// historyVariable names another; "" where none is to be kept, or the user has no such folder.
func historyFolder() string {
	switch folder := os.Getenv(historyVariable); {
	case folder == historyOff:
		return ""
	case folder != "":
		return folder
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) { // relative ones are to be ignored, by the XDG specification
		return filepath.Join(state, "cancha", "history")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "cancha", "history")
}
