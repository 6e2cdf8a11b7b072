//go:build workspace

package eval

import (
	"encoding/json"
	"os"
	"path/filepath"

	"cancha/kernel/eval/native"
)

// workspaceTools are what cells are compiled with, nil where CANCHA_WORKSPACE names no workspace.
func workspaceTools() *native.Toolchain {
	raw, err := os.ReadFile(filepath.Join(os.Getenv("CANCHA_WORKSPACE"), "workspace.json"))
	if err != nil {
		return nil
	}
	var tools native.Toolchain
	if json.Unmarshal(raw, &tools) != nil {
		return nil
	}
	return &tools
}
