//go:build !amd64

package forest

var fast = false

func downRows(*uint64, *uint32, *uint32, int, int, int, int, int) {
	panic("forest: no such instructions")
}

func downTrees(**uint64, *uint32, *uint32, int, int, int) { panic("forest: no such instructions") }
