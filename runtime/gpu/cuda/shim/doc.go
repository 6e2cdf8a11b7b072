// Package shim stands where NVIDIA's libcuda stands when gorgonia.org/cu is linked: it defines the symbols that cu wants and opens the real
// library when a device is first asked for, so that one program starts on every machine and can say why there is no GPU. It also has the
// few calls that cu lacks: pinned memory, graphs, cuBLAS, the run-time compiler. It ends at C: what the calls are for is package cuda's.
package shim
