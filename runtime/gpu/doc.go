// Package gpu is a session on a GPU, or on the CPU in its place: buffers, operations that run where they run fastest, and words that say
// why there. A session holds its GPU alone, among all processes of the machine. It ends at what devices do: package driver is the seam
// to them.
package gpu
