// Package nvml asks NVIDIA's management library what a GPU senses and who uses it. It is the one door to go-nvml, and ends at the words of
// [cancha/runtime/gpu/driver]. It is empty without the build tag nvidia.
package nvml
