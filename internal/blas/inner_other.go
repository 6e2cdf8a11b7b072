//go:build !amd64

package blas

// inners are those that this processor can run, the fastest first.
func inners() []inner { return []inner{plain()} }
