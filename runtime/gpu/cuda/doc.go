// Package cuda is NVIDIA's GPUs as devices of a GPU session. It is empty without the build tag nvidia (cuda is gorgonia's: with that its own
// code for GPUs is compiled, which needs cuDNN 8); with it, it reaches the driver through gorgonia.org/cu, which package shim links to
// whatever libcuda the machine has, or has not. It ends at the seam: funcs are those of package driver, written in kernels.cu, and what runs
// where is the session's choice.
package cuda
