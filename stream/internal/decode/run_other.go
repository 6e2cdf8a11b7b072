//go:build !amd64

package decode

// run leaves all members to the caller.
func run(text []byte, i int, after *follow, spots *[maxSpots]spot) (next int, last *follow, found int) {
	return i, after, 0
}
