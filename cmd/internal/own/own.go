// Package own says what this program's engines are built from, to both programs that have them built: cmd/cancha, and
// cmd/bootstrap, which makes cmd/cancha. It ends at the description: building is kernel/workspace's work. It imports nothing large,
// since cmd/bootstrap is what a fresh machine compiles before anything else.
package own

import (
	module "cancha"
	"cancha/kernel/workspace"
)

// Version is what "cancha version" prints and kernel_info reports as the implementation's version.
const Version = "0.1.0"

// Program is this program's package in the tree of its sources.
const Program = "./cmd/cancha"

// Workspace describes the workspaces of this program's engines, without GPUs.
func Workspace() workspace.Config {
	return workspace.Config{Sources: module.Sources(), Program: Program, Packages: beside, Version: Version}
}

// beside lists what cells may import and no engine is made of. All else that internal/symbols lists is linked into each engine by
// its tables.
func beside() []string { return []string{"time/tzdata"} }

// OnImport lists the rooms that are compiled beside an engine when a cell imports them.
func OnImport() []string { return module.OnImport() }
