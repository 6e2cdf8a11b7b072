//go:build !windows

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"cancha/cmd/internal/library"
	"cancha/cmd/internal/own"
)

// runMod is the command "mod": the library in a program of one's own.
func runMod(_ context.Context, args []string) error {
	flags := newFlags("mod", " [DIR]", "Writes the library that cells import into the folder cancha of a Go module, by default the one here,\n"+
		"and has its go.mod say so: a program can import cancha/stream, cancha/ml and the rest. Run again, it replaces\n"+
		"what an older version has written.")
	operands, err := parseMixed(flags, args)
	if err != nil {
		return err
	}
	if len(operands) > 1 {
		return usageError{"mod", fmt.Errorf("want one module's folder, not %d", len(operands))}
	}
	dir := "."
	if len(operands) == 1 {
		dir = operands[0]
	}
	if err := library.Write(own.Workspace().Sources, dir); err != nil {
		return err
	}
	fmt.Printf("wrote the library of %s into %s; go.mod requires it there.\n", own.Version, filepath.Join(dir, library.Folder))
	fmt.Println("Import what you need, then: go mod tidy && go build\nmust and check are there in cells alone: a program handles errors itself.")
	return nil
}
