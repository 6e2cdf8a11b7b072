// Package compare does the same work on the CPU and on the GPU, times both and shows them beside each other. It ends at the figures: where
// things run in earnest is the choice of a [cancha/runtime/gpu.Session].
package compare
