// Package emulated is a stand-in for NVIDIA's libcuda, for tests: it runs kernels.cu on the CPU, and fails when it is told to. A program built
// with the tag nvidia takes it for a driver where CANCHA_LIBCUDA names it; what it gives is labelled as CPU emulation. It ends at what our own
// driver calls, and its times say nothing of a GPU.
package emulated
