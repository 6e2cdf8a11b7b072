package forest

import "golang.org/x/sys/cpu"

// downRows walks groups of lanes rows, whose keys are size bytes apart, down a tree of that depth, and writes the thresholds
// of their leaves. Shift and mask are those of a column's place.
//
//go:noescape
func downRows(nodes *uint64, keys, leaves *uint32, groups, size, depth, shift, mask int)

// downTrees walks a row down lanes trees, the deepest of that depth, and writes the thresholds of its leaves.
//
//go:noescape
func downTrees(nodes **uint64, keys, leaves *uint32, depth, shift, mask int)

// fast: this processor has the instructions of downRows and downTrees.
var fast = cpu.X86.HasBMI2
